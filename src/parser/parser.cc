// SPDX-License-Identifier: Apache-2.0
#include "parser/parser.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>

#include "base/catching.h"
#include "base/diagnostics.h"
#include "parser/instructions.h"
#include "parser/protocol.h"
#include "parser/remote_rows.h"
#include "parser/remote_step.h"
#include "symbolize/image_cache.h"
#include "unwind/heuristics/heuristic_rules.h"
#include "unwind/row_compiler.h"

namespace cicada::parser {
namespace {

using sandbox::Channel;
using sandbox::Message;

// Asks the collector, which opens with the rights that it sees fit.
class AskedFiles final : public symbolize::CompanionFiles {
 public:
  explicit AskedFiles(Channel& channel) : channel_(channel) {}
  Result<File> open(Place place, const std::string& name) override {
    Message question;
    question.kind = kOpen;
    question.numbers[0] = static_cast<uint64_t>(place);
    question.text = name;
    TRY(channel_.send(question));
    Message answer = TRY(channel_.receive(true));
    if (answer.kind != kFile || answer.fds.size() != 1) return error_from(answer);
    return File{std::move(answer.fds[0]), std::move(answer.text)};
  }

 private:
  Channel& channel_;
};

class Parser {
 public:
  explicit Parser(Channel channel) : channel_(std::move(channel)), files_(std::make_shared<AskedFiles>(channel_)) {
    diagnostics().set_handler([this](Severity severity, const std::string& line) {
      Message note;
      note.kind = kNote;
      note.numbers[0] = static_cast<uint64_t>(severity);
      note.text = line;
      static_cast<void>(channel_.send(note));
    });
  }

  ~Parser() { diagnostics().set_handler({}); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  void run() {
    for (;;) {
      Result<Message> question = channel_.receive(true);
      if (!question) return;
      if (question->kind == kConfigure) {
        cache_.emplace(options_from(question->text));
        continue;
      }
      Result<size_t> answered = catching(question->text, [&]() -> Result<size_t> { return answer(*question); });
      Message last;
      last.kind = kDone;
      if (answered) last.numbers[0] = *answered;
      else last = to_message(answered.error());
      if (!channel_.send(last)) return;
    }
  }

 private:
  // Returns how many bytes of the job file are the answer.
  Result<size_t> answer(const Message& question) {
    if (question.fds.size() != 2) return make_error(ErrorKind::kInvalid, "a question without its files");
    if (question.kind == kRows) return compile(question);
    if (question.kind == kCode) return read_code(question);
    if (question.kind == kSteps) return step(question);
    if (question.kind == kName && cache_) return name(question);
    if (question.kind == kFunctions && cache_) return find_functions(question);
    if (question.kind == kInstruction) return check_instruction(question);
    if (question.kind == kUsdt) return find_usdt(question);
    if (question.kind == kReturns) return find_returns(question);
    if (question.kind == kParameters && cache_) return find_parameters(question);
    return make_error(ErrorKind::kInvalid, "not a question");
  }

  Result<size_t> name(const Message& question) {
    const auto [image, depth, count, far_away, reserved] = question.numbers;
    std::vector<LinkAddr> addresses(count);
    TRY(sandbox::read_file(question.fds[0].get(), addresses.data(), count * sizeof addresses[0]));
    const auto symbols = TRY(cache_->open(image, question.fds[1].get(), question.text, files_, far_away != 0));
    const std::string bytes = to_bytes(symbols->name(addresses, static_cast<symbolize::NameDepth>(depth), cache_->demangled()));
    cache_->trim();
    TRY(sandbox::write_file(question.fds[0].get(), bytes.data(), bytes.size()));
    return bytes.size();
  }

  Result<size_t> find_functions(const Message& question) {
    const auto [image, count, limit, far_away, reserved] = question.numbers;
    std::string bytes = TRY(read_job(question, kMaxPatternsBytes));
    const std::vector<std::string> patterns = TRY(patterns_from(bytes, count));
    const auto symbols = TRY(cache_->open(image, question.fds[1].get(), question.text, files_, far_away != 0));
    bytes = to_bytes(symbols->find_functions(patterns, std::min<uint64_t>(limit, symbolize::kMaxFunctions)));
    cache_->trim();
    TRY(sandbox::write_file(question.fds[0].get(), bytes.data(), bytes.size()));
    return bytes.size();
  }

  Result<size_t> find_parameters(const Message& question) {
    const auto [image, count, unused, far_away, reserved] = question.numbers;
    std::string bytes = TRY(read_job(question, kMaxFunctionsOfParameters * sizeof(LinkAddr)));
    const std::vector<LinkAddr> functions = TRY(addresses_from(bytes, count));
    const auto symbols = TRY(cache_->open(image, question.fds[1].get(), question.text, files_, far_away != 0));
    bytes = to_bytes(symbols->find_parameters(functions));
    cache_->trim();
    TRY(sandbox::write_file(question.fds[0].get(), bytes.data(), bytes.size()));
    return bytes.size();
  }

  static Result<size_t> check_instruction(const Message& question) {
    const uint64_t begin = question.numbers[0], offset = question.numbers[1];
    const FileMapping file = TRY(FileMapping::map(question.fds[1].get(), question.text));
    const size_t size = file.bytes().size();
    if (begin >= size || offset >= std::min<uint64_t>(size - begin, kMaxOffsetBytes)) return make_error(ErrorKind::kInvalid, "the file has no code there");
    const size_t most = std::min<uint64_t>(size - begin, offset + kMaxInstructionBytes);
    if (!begins_instruction(file.bytes().subspan(begin, most), offset)) return make_error(ErrorKind::kInvalid, "no instruction begins there");
    return size_t{0};
  }

  static Result<size_t> find_returns(const Message& question) {
    const uint64_t count = question.numbers[0];
    if (count > kMaxFunctionsOfReturns) return make_error(ErrorKind::kInvalid, "a question of {} functions", count);
    std::string bytes = TRY(read_job(question, kMaxFunctionsOfReturns * sizeof(symbolize::FunctionCode)));
    const std::vector<symbolize::FunctionCode> functions = TRY(function_codes_from(bytes, count));
    FileMapping file = TRY(FileMapping::map(question.fds[1].get(), question.text));
    const auto image = TRY(elf::ElfFile::parse(std::move(file), question.text));
    std::vector<symbolize::FunctionReturns> returns;
    for (const symbolize::FunctionCode& function : functions) returns.push_back(parser::find_returns(image.bytes(), function, &image));
    bytes = to_bytes(returns);
    TRY(sandbox::write_file(question.fds[0].get(), bytes.data(), bytes.size()));
    return bytes.size();
  }

  static Result<size_t> find_usdt(const Message& question) {
    std::string bytes = TRY(read_job(question, kMaxPatternsBytes));
    const std::vector<std::string> patterns = TRY(patterns_from(bytes, question.numbers[1]));
    FileMapping file = TRY(FileMapping::map(question.fds[1].get(), question.text));
    const auto elf = TRY(elf::ElfFile::parse(std::move(file), question.text));
    bytes = to_bytes(elf::search_usdt(elf, patterns, std::min<uint64_t>(question.numbers[2], elf::kMaxUsdtNotes)));
    TRY(sandbox::write_file(question.fds[0].get(), bytes.data(), bytes.size()));
    return bytes.size();
  }

  // The question of a job file.
  static Result<std::string> read_job(const Message& question, size_t max_bytes) {
    struct stat job {};
    if (::fstat(question.fds[0].get(), &job) != 0) return errno_error(errno, "stat a question");
    const auto size = static_cast<size_t>(job.st_size);
    if (size > max_bytes) return make_error(ErrorKind::kInvalid, "a question of {} bytes", size);
    std::string bytes(size, '\0');
    TRY(sandbox::read_file(question.fds[0].get(), bytes.data(), bytes.size()));
    return bytes;
  }

  static Result<size_t> compile(const Message& question) {
    FileMapping file = TRY(FileMapping::map(question.fds[1].get(), question.text));
    const auto elf = TRY(elf::ElfFile::parse(std::move(file), question.text));
    unwind::RowLimits limits;
    limits.threads = 1;
    limits.max_read_bytes = kMaxReadBytes;
    const unwind::UnwindRows rows = TRY(unwind::compile_rows(elf, limits));
    TRY(sandbox::write_file(question.fds[0].get(), rows.bytes().data(), rows.bytes().size()));
    return rows.bytes().size();
  }

  static Result<size_t> read_code(const Message& question) {
    const std::string asked = TRY(read_job(question, kMaxCodeQuestionBytes));
    const unwind::CodeQuestion wanted = TRY(code_question_from(question.numbers, asked));
    FileMapping file = TRY(FileMapping::map(question.fds[1].get(), question.text));
    const auto elf = TRY(elf::ElfFile::parse(std::move(file), question.text));
    const std::vector<unwind::CodeRule> rules = unwind::read_code(elf, wanted);
    const size_t bytes = rules.size() * sizeof rules[0];
    TRY(sandbox::write_file(question.fds[0].get(), rules.data(), bytes));
    return bytes;
  }

  Result<size_t> step(const Message& question) {
    const uint64_t image = question.numbers[0];
    auto known = steps_.find(image);
    if (known == steps_.end()) {
      FileMapping file = TRY(FileMapping::map(question.fds[1].get(), question.text));
      auto elf = std::make_shared<const elf::ElfFile>(TRY(elf::ElfFile::parse(std::move(file), question.text)));
      if (steps_.size() == kMaxStepImages) steps_.clear();
      known = steps_.try_emplace(image, std::move(elf)).first;
    }
    return answer_steps(known->second, question.fds[0].get());
  }

  static constexpr size_t kMaxPatternsBytes = symbolize::kMaxPatterns * (symbolize::kMaxPatternBytes + sizeof(uint32_t));
  static constexpr uint64_t kMaxOffsetBytes = 16 << 20, kMaxInstructionBytes = 15;
  static constexpr size_t kMaxStepImages = 32;  // whose call-frame entries are kept in order

  Channel channel_;
  std::shared_ptr<AskedFiles> files_;
  std::map<uint64_t, unwind::ImageSteps> steps_;
  std::optional<symbolize::ImageCache> cache_;
};

}  // namespace

void serve(sandbox::Channel channel) { Parser(std::move(channel)).run(); }

}  // namespace cicada::parser
