// SPDX-License-Identifier: Apache-2.0
// Parsers here are threads of this process: honest ones (serve), and one that says whatever a test wants.
#include "parser/parsers.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <thread>

#include "base/cpu_clock.h"
#include "base/diagnostics.h"
#include "parser/opener_threads_for_test.h"
#include "parser/instructions.h"
#include "parser/parser.h"
#include "parser/remote_functions.h"
#include "parser/remote_namer.h"
#include "parser/remote_rows.h"
#include "parser/remote_step.h"
#include "symbolize/symbols/elf_image_for_test.h"
#include "symbolize/symbols/image_symbols.h"
#include "unwind/heuristics/heuristic_rules.h"
#include "unwind/row_compiler.h"

namespace cicada::parser {
namespace {

using sandbox::Channel;
using sandbox::Message;

// Starts threads instead of processes.
class Threads {
 public:
  explicit Threads(std::function<void(Channel)> work) : work_(std::move(work)) {}
  ~Threads() {
    for (std::thread& thread : threads_) thread.join();
  }
  Parsers::Start start() {
    return [this](uint32_t) -> Result<sandbox::Zygote::Child> {
      auto [ours, theirs] = TRY(Channel::make_pair());
      ++started;
      threads_.emplace_back([this, theirs = std::make_shared<Channel>(std::move(theirs))] { work_(std::move(*theirs)); });
      return sandbox::Zygote::Child{Channel(std::move(ours)), UniqueFd(never_seen_to_end ? ::eventfd(0, EFD_CLOEXEC) : -1), ::getpid()};
    };
  }
  bool never_seen_to_end = false;
  std::atomic<int> started{0};

 private:
  std::function<void(Channel)> work_;
  std::vector<std::thread> threads_;
};

UniqueFd ourselves() { return UniqueFd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)); }

Question question(int file) {
  Question asked;
  asked.kind = kRows;
  asked.image = 7;
  asked.path = "/an/image";
  asked.file = file;
  return asked;
}

// One that answers its first question with `lie`, given the question.
std::function<void(Channel)> liar(std::function<void(Channel&, Message)> lie) {
  return [lie](Channel channel) {
    for (;;) {
      auto asked = channel.receive(true);
      if (!asked) return;
      if (asked->kind != kConfigure) lie(channel, std::move(*asked));
    }
  };
}

Message done(uint64_t bytes) {
  Message message;
  message.kind = kDone;
  message.numbers[0] = bytes;
  return message;
}

TEST(Parsers, RowsAreWhatThisProcessWouldCompile) {
  Threads honest(&serve);
  Parsers parsers(honest.start(), {}, 2);
  const UniqueFd file = ourselves();
  const auto remote = compile_rows(parsers, 0, 1, file.get(), "ourselves");
  ASSERT_TRUE(remote) << remote.error().message();
  FileMapping mapping = *FileMapping::map(file.get(), "ourselves");
  const auto elf = elf::ElfFile::parse(std::move(mapping), "ourselves");
  const auto local = unwind::compile_rows(*elf);
  ASSERT_TRUE(local);
  EXPECT_TRUE(std::ranges::equal(remote->bytes(), local->bytes()));
  EXPECT_GT(remote->rows().size(), 100u);
  EXPECT_EQ(honest.started, 1);
}

// Of our own code, as if it had no CFI.
TEST(Parsers, CodeIsReadAsThisProcessWould) {
  Threads honest(&serve);
  Parsers parsers(honest.start(), {}, 2);
  const UniqueFd file = ourselves();
  const auto elf = elf::ElfFile::parse(*FileMapping::map(file.get(), "ourselves"), "ourselves");
  const elf::Section* const text = elf->find_section(".text");
  unwind::CodeQuestion question;
  question.base = LinkAddr(text->address.value & ~uint64_t{0xffff});
  question.code = question.pieces = question.all = {{text->address, text->address + std::min<uint64_t>(text->size, 64 << 10)}};
  const auto remote = read_code(parsers, 0, 1, file.get(), "ourselves", question);
  ASSERT_TRUE(remote) << remote.error().message();
  const std::vector<unwind::CodeRule> local = unwind::read_code(*elf, question);
  ASSERT_EQ(remote->size(), local.size());
  EXPECT_GT(remote->size(), 100u);
  EXPECT_EQ(std::memcmp(remote->data(), local.data(), local.size() * sizeof local[0]), 0);
}

TEST(Parsers, RefuseQuestionsOfCodeThatMakeNoSense) {
  const auto question = [](std::vector<Range<LinkAddr>> ranges, uint64_t base, uint64_t looked_at) {
    const std::string bytes(reinterpret_cast<const char*>(ranges.data()), ranges.size() * sizeof ranges[0]);
    return code_question_from({base, 0, looked_at}, bytes);
  };
  const auto range = [](uint64_t begin, uint64_t end) { return Range<LinkAddr>{LinkAddr(begin), LinkAddr(end)}; };
  const auto good = question({range(0x10000, 0x10010), range(0x10010, 0x10020), range(0x10000, 0x20000)}, 0x10000, 2);
  ASSERT_TRUE(good);
  EXPECT_EQ(good->code.size(), 2u);
  EXPECT_EQ(good->all.size(), 1u);
  EXPECT_FALSE(question({range(0xffff, 0x10010)}, 0x10000, 1)) << "in front of the base";
  EXPECT_FALSE(question({range(0x10010, 0x10010)}, 0x10000, 1)) << "empty";
  EXPECT_FALSE(question({range(0x10010, 0x10020), range(0x10000, 0x10008)}, 0x10000, 2)) << "descends";
  EXPECT_FALSE(question({range(0x10010, 0x10020), range(0x1001f, 0x10030)}, 0x10000, 2)) << "overlap";
  EXPECT_FALSE(question({range(0x10010, 0x200000010)}, 0x10000, 0)) << "too far away";
  EXPECT_TRUE(question({}, 0x10000, 7));
}

TEST(Parsers, CheckRulesOfCode) {
  std::vector<unwind::CodeRule> answer;
  Threads lying(liar([&](Channel& channel, const Message& asked) {
    static_cast<void>(sandbox::write_file(asked.fds[0].get(), answer.data(), answer.size() * sizeof answer[0]));
    static_cast<void>(channel.send(done(answer.size() * sizeof answer[0])));
  }));
  Parsers parsers(lying.start(), {}, 1);
  const UniqueFd file = ourselves();
  unwind::CodeQuestion question;
  question.code = question.pieces = {{LinkAddr(0), LinkAddr(0x100)}};
  uint64_t image = 0;
  const auto ask = [&] { return read_code(parsers, 0, ++image, file.get(), "x", question); };
  const unwind_rule known = unwind::stack_pointer_plus(8);
  EXPECT_TRUE(ask());
  answer = {{0, 4, known}, {4, 8, known}};
  EXPECT_TRUE(ask());
  answer = {{0, 4, known}, {3, 8, known}};
  EXPECT_FALSE(ask()) << "overlap";
  answer = {{4, 4, known}};
  EXPECT_FALSE(ask()) << "empty";
  answer = {{0, 4, known}};
  answer[0].rule.cfa_kind = 77;
  EXPECT_FALSE(ask()) << "no such kind";
  answer[0].rule = unwind::unread_rule();
  EXPECT_FALSE(ask()) << "that was asked";
  answer.assign(1000, {0, 4, known});
  EXPECT_FALSE(ask()) << "more than there are bytes";
}

TEST(Parsers, NamesAreWhatThisProcessWouldFind) {
  Threads honest(&serve);
  OpenerThreads openers(&serve_names);
  const symbolize::SymbolizeOptions options;
  const auto namers = remote_image_namers(std::make_shared<Parsers>(honest.start(), options, 2), openers.make(), options);
  const UniqueFd file = ourselves();
  const auto image = symbolize::ImageSymbols::open(file.get(), "/proc/self/exe", symbolize::companions_in({}), options);
  ASSERT_TRUE(image);
  const FileMapping mapping = *FileMapping::map(file.get(), "ourselves");
  const auto elf = elf::ElfFile::parse(*FileMapping::map(file.get(), "ourselves"), "ourselves");
  std::vector<uint64_t> addresses;
  std::vector<LinkAddr> link;
  for (uint64_t at = elf->segments()[0].address.value; addresses.size() < 20'000; at += 64) {
    addresses.push_back(at);
    link.emplace_back(at);
  }
  const auto namer = namers->make({1, "/proc/self/exe", {[](const std::stop_token&) { return Result<UniqueFd>(ourselves()); }, {}, 0}});
  for (const auto depth : {symbolize::NameDepth::kSymbols, symbolize::NameDepth::kFull}) {
    const auto remote = namer->name(addresses, depth, {});
    ASSERT_TRUE(remote) << remote.error().message();
    symbolize::DemangleCache demangled(options.demangle, options.fold_clones);
    const symbolize::NamedAddresses local = (*image)->name(link, depth, demangled);
    EXPECT_EQ(to_bytes(*remote), to_bytes(local));
  }
}

TEST(Parsers, FunctionsAreWhatThisProcessWouldFind) {
  Threads honest(&serve);
  Parsers parsers(honest.start(), {}, 1);
  const UniqueFd file = ourselves();
  const auto image = symbolize::ImageSymbols::open(file.get(), "/proc/self/exe", symbolize::companions_in({}), {});
  ASSERT_TRUE(image);
  const std::vector<std::string> patterns{"main", "cicada::parser::*", "cicada::parser::to_bytez", "testing::Test::SetUp()"};
  const auto files = symbolize::companions_in({});
  for (const size_t limit : {size_t{1}, size_t{1000}}) {
    const auto remote = find_functions(parsers, 0, 1, file.get(), "/proc/self/exe", patterns, limit, files.get());
    ASSERT_TRUE(remote) << remote.error().message();
    EXPECT_EQ(to_bytes(*remote), to_bytes((*image)->find_functions(patterns, limit)));
    EXPECT_GT(remote->matches, 20U);
    EXPECT_NE(remote->near[2].find("cicada::parser::to_bytes"), std::string::npos) << remote->near[2];
    EXPECT_LE(remote->functions.size(), limit);
  }
  EXPECT_EQ(honest.started, 1);
  const auto none = find_functions(parsers, 0, 1, file.get(), "/proc/self/exe", {}, 10, nullptr);
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->functions.empty());
}

TEST(Parsers, FunctionsHaveBoundsOfTheQuestion) {
  Threads honest(&serve);
  Parsers parsers(honest.start(), {}, 1);
  const UniqueFd file = ourselves();
  for (const auto& patterns : {std::vector<std::string>(symbolize::kMaxPatterns + 1, "f"), std::vector<std::string>{std::string(symbolize::kMaxPatternBytes + 1, 'f')}}) {
    const auto found = find_functions(parsers, 0, 1, file.get(), "x", patterns, 10, nullptr);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().kind(), ErrorKind::kInvalid);
  }
  EXPECT_EQ(honest.started, 0) << "nobody was asked";

  // As many as there may be, of a file with one function: what they cost in a large one is a bound of the search.
  symbolize::ElfImage image;
  image.add_text(0x1000, 0x100);
  image.load_code();
  image.add_symbols(".symtab", {{"f", 0x1000, 0x10}});
  const std::vector<uint8_t> bytes = image.bytes();
  const UniqueFd small(::memfd_create("small", MFD_CLOEXEC));
  ASSERT_EQ(::write(small.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  const auto found = find_functions(parsers, 0, 1, small.get(), "x", std::vector<std::string>(symbolize::kMaxPatterns, "f*"), 10, nullptr);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->matches, symbolize::kMaxPatterns);
  EXPECT_EQ(found->functions.size(), 10U);
}

TEST(Parsers, CheckFunctions) {
  symbolize::FunctionSearch lie;
  lie.near.resize(1);
  for (uint64_t i = 0; i < 11; ++i) lie.functions.push_back({0, LinkAddr(i), {FileOffset(i), 1, {}, 0}, 0, false, false, "f"});
  lie.matches = lie.functions.size();
  Threads lying(liar([&](Channel& channel, const Message& asked) {
    const std::string bytes = to_bytes(lie);
    static_cast<void>(sandbox::write_file(asked.fds[0].get(), bytes.data(), bytes.size()));
    static_cast<void>(channel.send(done(bytes.size())));
  }));
  Parsers parsers(lying.start(), {}, 1);
  const UniqueFd file = ourselves();
  const std::vector<std::string> one{"f"}, two{"f", "g"};
  EXPECT_TRUE(find_functions(parsers, 0, 1, file.get(), "x", one, 11, nullptr));
  for (const auto& [patterns, limit] : {std::pair{one, size_t{10}}, std::pair{two, size_t{11}}}) {
    const auto found = find_functions(parsers, 0, 1, file.get(), "x", patterns, limit, nullptr);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().kind(), ErrorKind::kCorrupt);
  }
}

// Of a thousand functions of this program, which are more than one question.
TEST(Parsers, ReturnsAreWhatThisProcessWouldFind) {
  Threads honest(&serve);
  Parsers parsers(honest.start(), {}, 1);
  const UniqueFd file = ourselves();
  const auto image = elf::ElfFile::open("/proc/self/exe");
  ASSERT_TRUE(image) << image.error().message();
  const auto found = find_functions(parsers, 0, 1, file.get(), "/proc/self/exe", std::vector<std::string>{"*"}, 5000, nullptr);
  ASSERT_TRUE(found) << found.error().message();
  std::vector<symbolize::FunctionCode> functions{{}, {FileOffset(0), symbolize::kMaxCodeBytes + 1, {}, 0}};
  for (const symbolize::FoundFunction& function : found->functions) functions.push_back(function.code);
  const auto remote = find_returns(parsers, 0, 1, file.get(), "x", functions);
  ASSERT_TRUE(remote) << remote.error().message();
  ASSERT_EQ(remote->size(), functions.size());
  size_t returns = 0, sure = 0;
  for (size_t i = 0; i < functions.size(); ++i) {
    const symbolize::FunctionReturns local = find_returns(image->bytes(), functions[i], &*image);
    EXPECT_EQ((*remote)[i].offsets, local.offsets);
    EXPECT_EQ((*remote)[i].leaves_otherwise, local.leaves_otherwise);
    returns += local.offsets.size();
    sure += local.leaves_otherwise ? 0 : 1;
  }
  EXPECT_GT(returns, 500U);
  EXPECT_GT(sure, functions.size() / 4);
  EXPECT_TRUE((*remote)[0].leaves_otherwise && (*remote)[1].leaves_otherwise);
  EXPECT_TRUE(find_returns(parsers, 0, 1, file.get(), "x", {})->empty());
}

TEST(Parsers, CheckReturns) {
  std::vector<symbolize::FunctionReturns> lie(1);
  std::string more;
  Threads lying(liar([&](Channel& channel, const Message& asked) {
    const std::string bytes = to_bytes(lie) + more;
    static_cast<void>(sandbox::write_file(asked.fds[0].get(), bytes.data(), bytes.size()));
    static_cast<void>(channel.send(done(bytes.size())));
  }));
  Parsers parsers(lying.start(), {}, 1);
  const UniqueFd file = ourselves();
  const std::vector<symbolize::FunctionCode> asked{{FileOffset(100), 10, FileOffset(50), 2}};
  const auto is_believed = [&] {
    const auto answer = find_returns(parsers, 0, 1, file.get(), "x", asked);
    return answer && *answer == lie;
  };
  const auto offsets = [](std::initializer_list<uint64_t> all) {
    symbolize::FunctionReturns returns;
    for (const uint64_t one : all) returns.offsets.emplace_back(one);
    return std::vector<symbolize::FunctionReturns>{returns};
  };
  for (const auto& all : {offsets({}), offsets({50, 51, 100, 109})}) EXPECT_TRUE((lie = all, is_believed()));
  for (const auto& all : {offsets({49}), offsets({52}), offsets({99}), offsets({110}), offsets({~uint64_t{0}}), offsets({101, 101}), offsets({102, 101})}) EXPECT_FALSE((lie = all, is_believed()));
  lie = offsets({100});
  more = "x";
  EXPECT_FALSE(is_believed());
  more.clear();
  lie.resize(2);
  EXPECT_FALSE(is_believed()) << "of another function";
  lie.clear();
  EXPECT_FALSE(is_believed()) << "of none";
}

// Of the C++ library that this program runs with, which has probes of its own.
TEST(Parsers, UsdtIsWhatThisProcessWouldFind) {
  Threads honest(&serve);
  Parsers parsers(honest.start(), {}, 1);
  Dl_info where;
  ASSERT_NE(::dladdr(dlsym(RTLD_DEFAULT, "__cxa_throw"), &where), 0);
  const auto elf = elf::ElfFile::open(where.dli_fname);
  ASSERT_TRUE(elf);
  const UniqueFd file(::open(where.dli_fname, O_RDONLY | O_CLOEXEC));
  const std::vector<std::string> patterns{"libstdcxx:*", "nothing:*", "*:*"};
  for (const size_t limit : {size_t{0}, size_t{2}, size_t{1000}}) {
    const auto remote = find_usdt(parsers, 0, 1, file.get(), where.dli_fname, patterns, limit);
    ASSERT_TRUE(remote) << remote.error().message();
    EXPECT_EQ(to_bytes(*remote), to_bytes(elf::search_usdt(*elf, patterns, limit)));
  }
  EXPECT_EQ(honest.started, 1);
  const std::vector<std::string> too_many(symbolize::kMaxPatterns + 1, "a:b");
  EXPECT_FALSE(find_usdt(parsers, 0, 1, file.get(), "x", too_many, 10));
}

TEST(Parsers, CheckUsdt) {
  elf::UsdtSearch lie;
  lie.near.resize(1);
  for (uint64_t i = 0; i < 11; ++i) lie.probes.push_back({0, FileOffset(i), FileOffset(), {}, "a:b"});
  Threads lying(liar([&](Channel& channel, const Message& asked) {
    const std::string bytes = to_bytes(lie);
    static_cast<void>(sandbox::write_file(asked.fds[0].get(), bytes.data(), bytes.size()));
    static_cast<void>(channel.send(done(bytes.size())));
  }));
  Parsers parsers(lying.start(), {}, 1);
  const UniqueFd file = ourselves();
  const std::vector<std::string> one{"a:b"}, two{"a:b", "c:d"};
  EXPECT_TRUE(find_usdt(parsers, 0, 1, file.get(), "x", one, 11));
  for (const auto& [patterns, limit] : {std::pair{one, size_t{10}}, std::pair{two, size_t{11}}}) {
    const auto found = find_usdt(parsers, 0, 1, file.get(), "x", patterns, limit);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().kind(), ErrorKind::kCorrupt);
  }
}

// Of this program; in more than one question.
TEST(Parsers, ParametersAreWhatThisProcessWouldFind) {
  Threads honest(&serve);
  Parsers parsers(honest.start(), {}, 1);
  const UniqueFd file = ourselves();
  const auto symbols = symbolize::ImageSymbols::open(file.get(), "/proc/self/exe", symbolize::companions_in({}), {});
  ASSERT_TRUE(symbols);
  std::vector<LinkAddr> begins;
  for (const symbolize::FoundFunction& function : (*symbols)->find_functions(std::vector<std::string>{"*"}, kMaxFunctionsOfParameters + 10).functions) begins.push_back(function.begin);
  ASSERT_GT(begins.size(), kMaxFunctionsOfParameters);
  const auto remote = find_parameters(parsers, 0, 1, file.get(), "/proc/self/exe", begins, nullptr);
  ASSERT_TRUE(remote) << remote.error().message();
  EXPECT_EQ(to_bytes(*remote), to_bytes((*symbols)->find_parameters(begins)));
  EXPECT_EQ(honest.started, 1);
}

// Over all of this program's code, with a stack and registers that lead somewhere.
TEST(Parsers, StepsAreWhatThisProcessWouldTake) {
  Threads honest(&serve);
  Parsers parsers(honest.start(), {}, 1);
  const UniqueFd file = ourselves();
  const auto elf = std::make_shared<const elf::ElfFile>(*elf::ElfFile::parse(*FileMapping::map(file.get(), "ourselves"), "ourselves"));
  const unwind::ImageSteps local(elf);
  constexpr uint64_t kStack = 0x7ffc00001000;
  std::vector<uint8_t> copy(32 << 10);
  for (size_t i = 0; i < copy.size() / 8; ++i) {
    const uint64_t word = kStack + 8 * (i * 37 % (copy.size() / 8));
    std::memcpy(&copy[8 * i], &word, sizeof word);
  }
  const unwind::CopiedStack stack(copy, kStack, ~uint64_t{0x10});  // a page of it is missing
  std::map<dwarf::FrameStep, int> outcomes;
  int assumed = 0;
  const auto code = std::ranges::find_if(elf->segments(), [](const auto& segment) { return (segment.flags & PF_X) != 0; });
  ASSERT_NE(code, elf->segments().end());
  constexpr uint64_t kPlaces = 400;
  std::vector<unwind::StepQuestion> questions;
  for (uint64_t i = 0; i < kPlaces; ++i) {
    const uint64_t offset = i * (code->memory_size / kPlaces);
    for (const auto by : {unwind::StepBy::kCallFrameInformation, unwind::StepBy::kHandlerReturn}) {
      unwind::StepQuestion asked{by, LinkAddr(code->address.value + offset), &stack, {}};
      for (unsigned reg = 0; reg < dwarf::kRegisterCount; ++reg) asked.registers.value[reg] = kStack + i % 8 * 4096 + 64 * reg;
      asked.registers.known = i % 3 != 0 ? ARCH_ALL_REGISTERS | 1u << ARCH_RETURN : ARCH_CALLEE_SAVED & ~(1u << ARCH_FP);
      questions.push_back(asked);
    }
  }
  for (size_t first = 0, count = 1; first < questions.size(); first += count, count = std::min(count * 2, questions.size() - first)) {
    const auto together = std::span(questions).subspan(first, count);
    const auto there = take_steps(parsers, 0, 1, file.get(), "ourselves", together);
    ASSERT_TRUE(there) << there.error().message();
    ASSERT_EQ(there->size(), count);
    for (size_t i = 0; i < count; ++i) {
      const unwind::ImageStep here = local.take(together[i]), &its = (*there)[i];
      EXPECT_EQ(its.outcome, here.outcome);
      EXPECT_EQ(its.exact_ip, here.exact_ip);
      EXPECT_EQ(its.assumed, here.assumed);
      EXPECT_EQ(its.registers.value, here.registers.value);
      EXPECT_EQ(its.registers.known, here.registers.known);
      ++outcomes[here.outcome];
      assumed += here.assumed;
    }
  }
  EXPECT_GT(outcomes[dwarf::FrameStep::kDone], 100);
  EXPECT_GT(outcomes[dwarf::FrameStep::kUnreadable], 10);
  EXPECT_GT(assumed, 10);
  EXPECT_EQ(honest.started, 1);
}

TEST(Parsers, AskForCompanions) {
  class OneFile final : public symbolize::CompanionFiles {
   public:
    Result<File> open(Place, const std::string& name) override {
      asked = name;
      return File{ourselves(), "/found/here"};
    }
    std::string asked;
  } files;
  Threads asking(liar([](Channel& channel, const Message& asked) {
    Message open;
    open.kind = kOpen;
    open.text = "/a/debug/file";
    ASSERT_TRUE(channel.send(open));
    const auto file = channel.receive(true);
    ASSERT_TRUE(file && file->kind == kFile && file->fds.size() == 1);
    ASSERT_TRUE(sandbox::write_file(asked.fds[0].get(), file->text.data(), file->text.size()));
    ASSERT_TRUE(channel.send(done(file->text.size())));
  }));
  Parsers parsers(asking.start(), {}, 1);
  const UniqueFd file = ourselves();
  Question asked = question(file.get());
  asked.companions = &files;
  const auto answer = parsers.ask(asked, 100);
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(*answer, "/found/here");
  EXPECT_EQ(files.asked, "/a/debug/file");
}

// Whatever it says is an error, and the next question is asked of another.
TEST(Parsers, BelieveNothing) {
  const std::vector<std::function<void(Channel&, Message)>> lies = {
      [](Channel& channel, const Message&) { static_cast<void>(channel.send(done(~uint64_t{0}))); },
      [](Channel& channel, const Message&) { static_cast<void>(channel.send(done(1 << 20))); },  // bytes that are not there
      [](Channel& channel, const Message&) {
        Message unknown;
        unknown.kind = 99;
        static_cast<void>(channel.send(unknown));
      },
      [](Channel& channel, const Message&) { static_cast<void>(::write(channel.fd(), "short", 5)); },
      [](Channel& channel, const Message&) {  // opens without end
        for (int i = 0; i < 1000; ++i) {
          Message open;
          open.kind = kOpen;
          open.numbers[0] = static_cast<uint64_t>(i);
          open.text = std::string("a\0b", 3);
          if (!channel.send(open) || !channel.receive(true)) return;
        }
        static_cast<void>(channel.send(done(~uint64_t{0})));
      },
      [](Channel& channel, const Message& asked) {  // another's descriptors
        static_cast<void>(channel.send(done(uint64_t{1} << 62), {asked.fds[0].get(), asked.fds[1].get()}));
      },
  };
  const UniqueFd file = ourselves();
  for (size_t i = 0; i < lies.size(); ++i) {
    Threads lying(liar(lies[i]));
    Parsers parsers(lying.start(), {}, 1);
    EXPECT_FALSE(parsers.ask(question(file.get()), 1 << 20)) << i;
    Question other = question(file.get());
    other.image = 8;
    EXPECT_FALSE(parsers.ask(other, 1 << 20)) << i;
    EXPECT_EQ(lying.started, 2) << i;
  }
}

TEST(Parsers, CheckRowsAndNames) {
  Threads lying(liar([](Channel& channel, const Message& asked) {
    std::vector<uint8_t> noise(4096);
    for (size_t i = 0; i < noise.size(); ++i) noise[i] = static_cast<uint8_t>(i * 31);
    static_cast<void>(sandbox::write_file(asked.fds[0].get(), noise.data(), noise.size()));
    static_cast<void>(channel.send(done(noise.size())));
  }));
  const auto parsers = std::make_shared<Parsers>(lying.start(), symbolize::SymbolizeOptions{}, 1);
  const UniqueFd file = ourselves();
  const auto rows = compile_rows(*parsers, 0, 1, file.get(), "x");
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().kind(), ErrorKind::kCorrupt);
  const auto namer = remote_image_namers(parsers, nullptr, {})->make({1, "x", {[](const std::stop_token&) { return Result<UniqueFd>(ourselves()); }, {}, 0}});
  const auto names = namer->name(std::vector<uint64_t>{1, 2}, symbolize::NameDepth::kSymbols, {});
  ASSERT_FALSE(names);
  EXPECT_EQ(names.error().kind(), ErrorKind::kCorrupt);
}

TEST(Parsers, CheckSteps) {
  std::atomic<size_t> size = 0;
  Threads lying(liar([&](Channel& channel, const Message& asked) {
    const std::vector<uint64_t> noise(size / 8, 0x4141414141414141);
    static_cast<void>(sandbox::write_file(asked.fds[0].get(), noise.data(), size));
    static_cast<void>(channel.send(done(size)));
  }));
  Parsers parsers(lying.start(), {}, 1);
  const UniqueFd file = ourselves();
  const unwind::CopiedStack stack({}, 0x1000, ~uint64_t{0});
  const std::vector<unwind::StepQuestion> asked(2, {unwind::StepBy::kCallFrameInformation, LinkAddr(1), &stack, {}});
  for (size = 0; size <= 512; size = size + 8) {
    const auto steps = take_steps(parsers, 0, size, file.get(), "x", asked);
    EXPECT_FALSE(steps) << size;
  }
}

// One user's stacks may kill his parsers, and with them nobody else's steps by the same file.
TEST(Parsers, WhoKillsThemIsLeftAloneAndNobodyElse) {
  Threads some([](Channel channel) {
    static_cast<void>(channel.receive(true));
    for (;;) {
      const auto asked = channel.receive(true);
      if (!asked || asked->text == "deadly") return;
      Message failed;
      failed.kind = kFailed;
      failed.text = "no";
      static_cast<void>(channel.send(failed));
    }
  });
  Parsers parsers(some.start(), {}, 1);
  const UniqueFd file = ourselves();
  const unwind::CopiedStack stack({}, 0x1000, ~uint64_t{0});
  const std::vector<unwind::StepQuestion> asked(1, {unwind::StepBy::kCallFrameInformation, LinkAddr(1), &stack, {}});
  for (int i = 0; i < Parsers::kMaxDeaths; ++i) EXPECT_FALSE(take_steps(parsers, 1000, 7, file.get(), "deadly", asked));
  EXPECT_EQ(some.started, Parsers::kMaxDeaths);
  EXPECT_FALSE(take_steps(parsers, 1000, 7, file.get(), "harmless", asked));
  EXPECT_EQ(some.started, Parsers::kMaxDeaths) << "asked again";
  EXPECT_FALSE(take_steps(parsers, 1001, 7, file.get(), "harmless", asked));
  EXPECT_EQ(some.started, Parsers::kMaxDeaths + 1) << "not asked for another user";
}

TEST(Parsers, AnImageThatKillsThemIsLeftAlone) {
  Threads dying([](Channel channel) {
    static_cast<void>(channel.receive(true));
    static_cast<void>(channel.receive(true));
  });
  Parsers parsers(dying.start(), {}, 1);
  const UniqueFd file = ourselves();
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(parsers.ask(question(file.get()), 100));
  EXPECT_EQ(dying.started, Parsers::kMaxDeaths);
}

TEST(Parsers, ThoseThatDoNotEndTakePlacesOfTheirOwner) {
  Threads dying([](Channel channel) {
    static_cast<void>(channel.receive(true));
    static_cast<void>(channel.receive(true));
  });
  dying.never_seen_to_end = true;
  LeftBehind left;
  Parsers parsers(dying.start(), {}, 1, left);
  const UniqueFd file = ourselves();
  Question asked = question(file.get());
  for (const uint32_t owner : {1000U, 1001U}) {
    asked.owner = owner;
    for (asked.image = 0; asked.image < LeftBehind::kMaxOfOne + 5; ++asked.image) EXPECT_FALSE(parsers.ask(asked, 100));
  }
  EXPECT_EQ(dying.started, static_cast<int>(2 * LeftBehind::kMaxOfOne));
}

TEST(Parsers, NotesHaveABoundAndKeepTheirSeverity) {
  std::atomic<int> lines{0}, warnings{0};
  diagnostics().set_handler([&](Severity severity, const std::string&) {
    ++lines;
    warnings += severity == Severity::kWarning;
  });
  Threads noisy(liar([](Channel& channel, const Message&) {
    for (int i = 0; i < 1000; ++i) {
      Message note;
      note.kind = kNote;
      note.numbers[0] = static_cast<uint64_t>(i == 0 ? Severity::kWarning : Severity::kInfo);
      note.text = "line " + std::to_string(i);
      static_cast<void>(channel.send(note));
    }
    static_cast<void>(channel.send(done(0)));
  }));
  {
    Parsers parsers(noisy.start(), {}, 1);
    const UniqueFd file = ourselves();
    EXPECT_TRUE(parsers.ask(question(file.get()), 100));
  }
  diagnostics().set_handler({});
  EXPECT_GT(lines, 0);
  EXPECT_LT(lines, 100);
  EXPECT_EQ(warnings, 1);
}

// One that asks without end, and never looks at what it is told. Nobody waits for it to do so.
TEST(Parsers, NobodyWaitsForOneThatDoesNotRead) {
  Threads deaf(liar([](Channel& channel, const Message&) {
    for (int i = 0; i < 1000; ++i) {
      Message open;
      open.kind = kOpen;
      open.text = std::string(4000, 'x');
      if (!channel.send(open)) return;
    }
    static_cast<void>(channel.send(done(0)));
  }));
  Parsers parsers(deaf.start(), {}, 1);
  const UniqueFd file = ourselves();
  const auto answer = parsers.ask(question(file.get()), 100);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind(), ErrorKind::kLimit);
}

TEST(Parsers, StopEndsTheWaitForAFreeOne) {
  Threads mute(liar([](Channel&, const Message&) {}));
  Parsers parsers(mute.start(), {}, 1);
  const UniqueFd file = ourselves();
  std::stop_source first, second;
  std::jthread asks([&] { EXPECT_FALSE(parsers.ask(question(file.get()), 100, first.get_token())); });
  while (mute.started == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  second.request_stop();
  EXPECT_FALSE(parsers.ask(question(file.get()), 100, second.get_token()));
  EXPECT_EQ(mute.started, 1);
  first.request_stop();
}

TEST(Parsers, WhatOneUsesIsWorkOfWhoAsked) {
  Threads busy(liar([](Channel& channel, const Message&) {
    const auto begin = cpu_time();
    while (cpu_time() - begin < std::chrono::milliseconds(50)) continue;
    ASSERT_TRUE(channel.send(done(0)));
  }));
  Parsers parsers(busy.start(), {}, 1);
  const UniqueFd file = ourselves();
  const auto before = delegated_cpu_time();
  ASSERT_TRUE(parsers.ask(question(file.get()), 100));
  EXPECT_GE(delegated_cpu_time() - before, std::chrono::milliseconds(50));
}

TEST(Parsers, StopEndsAQuestion) {
  Threads mute(liar([](Channel&, const Message&) {}));
  Parsers parsers(mute.start(), {}, 1);
  std::stop_source stop;
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop.request_stop();
  });
  const UniqueFd file = ourselves();
  EXPECT_FALSE(parsers.ask(question(file.get()), 100, stop.get_token()));
}

TEST(Protocol, OptionsArriveAsTheyWere) {
  symbolize::SymbolizeOptions options;
  options.lines = false;
  options.demangle = symbolize::Demangle::kShort;
  options.debug_dirs = {"/a", "/b c"};
  const symbolize::SymbolizeOptions arrived = options_from(to_text(options));
  EXPECT_TRUE(arrived.inlines);
  EXPECT_FALSE(arrived.lines);
  EXPECT_EQ(arrived.demangle, options.demangle);
  EXPECT_EQ(arrived.debug_dirs, options.debug_dirs);
}

}  // namespace
}  // namespace cicada::parser
