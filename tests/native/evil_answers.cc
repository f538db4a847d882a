// SPDX-License-Identifier: Apache-2.0
// Parsers that were taken over and stay where they are: what they answer, and whether. In processes of the zygote's, beside an honest one
// for another owner. Of each behaviour: its question ends with an error and not late, the honest one's answers stay right meanwhile, and it
// costs this process little memory.
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/diagnostics.h"
#include "parser/parser.h"
#include "parser/remote_rows.h"
#include "sandbox/zygote.h"

namespace {

using namespace cicada;
using parser::Parsers;
using sandbox::Channel;
using sandbox::Message;
using sandbox::Zygote;

constexpr uint32_t kHonest = 1000, kEvil = 1001;
constexpr size_t kMaxGrowth = 64 << 20;
constexpr auto kLate = std::chrono::seconds(60);  // kWallFactor times kBudget are 20 s

void done(Channel& channel, uint64_t bytes) {
  Message message;
  message.kind = parser::kDone;
  message.numbers[0] = bytes;
  static_cast<void>(channel.send(message));
}

void sleep_for(std::chrono::nanoseconds time) {
  static std::atomic<int> word{0};
  const timespec wait{time.count() / 1'000'000'000, time.count() % 1'000'000'000};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, 0, &wait, nullptr, 0);
}

void work(std::chrono::nanoseconds time) {
  for (const auto end = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < end;) {
  }
}

struct Behaviour {
  const char* name;
  void (*answer)(Channel& channel, Message& question);
};

const std::vector<Behaviour> kBehaviours = {
    {"lies of an answer's size", [](Channel& channel, Message&) { done(channel, uint64_t{1} << 60); }},
    {"lies of rows",
     [](Channel& channel, Message& question) {
       const std::string rows(160'000, '\xa5');
       static_cast<void>(sandbox::write_file(question.fds[0].get(), rows.data(), rows.size()));
       done(channel, rows.size());
     }},
    {"says what is no message",
     [](Channel& channel, Message&) {
       static_cast<void>(::write(channel.fd(), "nonsense", 8) == 8);
       sleep_for(std::chrono::hours(1));
     }},
    {"floods with notes",
     [](Channel& channel, Message&) {
       Message note;
       note.kind = parser::kNote;
       note.text = std::string(Message::kMaxText, 'x');
       while (channel.send(note)) {
       }
     }},
    {"floods with wishes for files",
     [](Channel& channel, Message&) {
       Message wish;
       wish.kind = parser::kOpen;
       wish.text = "/etc/shadow";
       while (channel.send(wish)) {
       }
     }},
    {"naps", [](Channel&, Message&) { sleep_for(std::chrono::hours(1)); }},
    {"naps, and works a little",
     [](Channel&, Message&) {
       for (;;) {
         work(std::chrono::milliseconds(2));
         sleep_for(std::chrono::milliseconds(500));
       }
     }},
    {"works without an end", [](Channel&, Message&) { work(std::chrono::hours(1)); }},
    {"dies", [](Channel&, Message&) { ::_exit(1); }},
    {"grows",
     [](Channel&, Message&) {
       std::vector<char*> all;
       for (;;) {
         all.push_back(static_cast<char*>(std::malloc(64 << 20)));
         if (all.back() == nullptr) ::_exit(2);
         std::memset(all.back(), 'x', 64 << 20);
       }
     }},
    {"lets its answer grow",
     [](Channel& channel, Message& question) {
       for (off_t size = 0; ::ftruncate(question.fds[0].get(), size) == 0; size += 16 << 20) {
       }
       done(channel, 1 << 20);
     }},
    // The next question of this owner finds the second answer.
    {"answers for others",
     [](Channel& channel, Message&) {
       done(channel, 0);
       done(channel, 16);
     }},
};

// The question's path says which. The last one never reads again.
void evil(Channel channel) {
  for (;;) {
    auto question = channel.receive(true);
    if (!question) return;
    if (question->kind == parser::kConfigure) continue;
    const size_t which = static_cast<size_t>(std::atoi(question->text.c_str()));
    if (which == kBehaviours.size()) {
      for (;;) sleep_for(std::chrono::hours(1));
    }
    if (which < kBehaviours.size()) kBehaviours[which].answer(channel, *question);
  }
}

size_t peak_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<size_t>(usage.ru_maxrss) << 10;
}

bool tell(bool right, const std::string& what) {
  std::printf("%-8s %s\n", right ? "ok" : "WRONG", what.c_str());
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    const auto work = std::string_view(argv[1]) == "honest" ? &parser::serve : &evil;
    return sandbox::run_zygote(work, work);
  }
  diagnostics().set_handler([](Severity, const std::string&) {});
  const auto evil_ones = Zygote::start({"/proc/self/exe", "evil"}), honest_ones = Zygote::start({"/proc/self/exe", "honest"});
  if (!evil_ones || !honest_ones) return std::fprintf(stderr, "no zygote\n"), 1;
  Parsers parsers([&](uint32_t owner) { return (owner == kEvil ? *evil_ones : *honest_ones)->spawn(owner); }, {}, 1);
  const UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const auto right = parser::compile_rows(parsers, kHonest, 1, file.get(), "honest");
  if (!right || right->rows().empty())
    return std::fprintf(stderr, "an honest parser fails: %s\n", right ? "no rows" : right.error().message().c_str()), 1;
  bool all = true;
  for (size_t which = 0; which <= kBehaviours.size(); ++which) {
    const std::string name = which < kBehaviours.size() ? kBehaviours[which].name : "reads nothing";
    const size_t before = peak_bytes();
    std::atomic<bool> over{false};
    std::string said;
    bool refused = true;
    const auto begin = std::chrono::steady_clock::now();
    std::thread asks([&] {
      for (int turn = 0; turn < 2 && std::chrono::steady_clock::now() - begin < std::chrono::seconds(10); ++turn) {
        const auto answer =
            parser::compile_rows(parsers, kEvil, 100 + 2 * which + static_cast<size_t>(turn), file.get(), std::to_string(which));
        // Nothing at all is an answer, of an image without tables.
        refused = refused && (!answer || answer->rows().empty());
        said = answer ? "an empty table" : answer.error().message();
      }
      over = true;
    });
    int answered = 0;
    bool honest = true;
    do {
      const auto rows = parser::compile_rows(parsers, kHonest, 2 + static_cast<uint64_t>(++answered) % 2, file.get(), "honest");
      honest = honest && rows && std::ranges::equal(rows->bytes(), right->bytes());
    } while (!over);
    asks.join();
    const auto took = std::chrono::steady_clock::now() - begin;
    const size_t grown = peak_bytes() - before;
    all &= tell(refused, fmt::format("{}: {}", name, said));
    all &= tell(honest, fmt::format("  meanwhile another one's {} answers are right", answered));
    all &= tell(took < kLate, fmt::format("  its questions took {:.1f} s", std::chrono::duration<double>(took).count()));
    all &= tell(grown < kMaxGrowth, fmt::format("  this process grew by {} MB", grown >> 20));
  }
  return all ? 0 : 1;
}
