// SPDX-License-Identifier: Apache-2.0
// How often a subject is asked while recording follows from what it costs. Symbol tables: again after 20 times what the last question took,
// which is at once for one that is open. DWARF: when a fourth of the frames wait for it, so there are a dozen questions in a minute, each is
// worth decoding compilation units again, and the end has a fifth of the work left; or after 100 times what the last question took, for all
// subjects together.
#include "symbolize/symbolizer.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/cpu_clock.h"
#include "base/diagnostics.h"
#include "base/parallel.h"
#include "base/work_queue.h"
#include "symbolize/image_namer.h"
#include "symbolize/jit/jit_namer.h"
#include "symbolize/kernel/kernel_namer.h"
#include "symbolize/name_writer.h"

namespace cicada::symbolize {
namespace {

using profile::FrameId;
using profile::FrameKind;
using profile::NameSource;
using profile::Profile;
using profile::ProfileSnapshot;
using Clock = Symbolizer::Clock;

constexpr int kSymbolCostFactor = 20, kFullCostFactor = 100;
constexpr size_t kFewestFull = 64, kNewShareFull = 4;
constexpr std::chrono::microseconds kApplyTime(900);
constexpr size_t kFramesAtATime = 32;  // between two looks at the clock
// Of the threads that work meanwhile, beside our other threads: a tenth of their share. With 19 nothing would be done by the end of a
// recording on a busy machine. Two, so that a file that takes long does not keep others waiting.
constexpr WorkQueue::Options kBackground{
    .thread_name = "cicada-names", .workers = 2, .nice = 10, .max_bytes = 64 << 20, .stop_timeout = std::chrono::seconds(2)};

struct Wanted {
  uint64_t address = 0;
  FrameId frame;
  auto operator<=>(const Wanted&) const = default;
};

std::vector<uint64_t> addresses_of(std::span<const Wanted> wanted) {
  std::vector<uint64_t> addresses;
  addresses.reserve(wanted.size());
  for (const Wanted& each : wanted) addresses.push_back(each.address);
  return addresses;
}

std::chrono::milliseconds until(std::optional<Clock::time_point> deadline) {
  return deadline ? std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()) : WorkQueue::kForever;
}

void append(std::vector<Wanted>& to, std::span<const Wanted> more) { to.insert(to.end(), more.begin(), more.end()); }

// Whose addresses frames are, and which of them wait for names.
struct Subject {
  std::unique_ptr<Namer> namer;
  std::string name;
  profile::ImageId image;
  FrameKind kind = FrameKind::kNative;
  uint32_t owner = 0;           // the user in whose name it is looked at
  bool is_trusted = true;       // root's, or of who asked
  std::vector<Wanted> fresh;    // never asked for
  std::vector<Wanted> fuller;   // named, but more can be said
  std::vector<Wanted> unknown;  // JIT code: until there are more symbols
  size_t full = 0;              // frames of which all was said
  bool busy = false, failed = false, asked = false, without_symbols = false;
  Clock::time_point next{};     // not asked before
};

void warn_nameless(const Subject& subject, size_t addresses, const Error& why) {
  diagnostics().warn(subject.name, "no names for {} addresses: {}", addresses, why.message());
}

struct Question {
  Subject* subject = nullptr;
  NameDepth depth = NameDepth::kSymbols;
  std::vector<Wanted> wanted;  // sorted
  std::optional<NamedAddresses> names{};  // the answer
  std::chrono::nanoseconds cost{};
  WorkQueue::JobId job = 0;
  uint64_t jit_additions = 0;  // there were when it was asked
  std::atomic<bool> begun{false}, over{false};

  void ask(const std::stop_token& stop) {
    Result<NamedAddresses> found = subject->namer->name(addresses_of(wanted), depth, stop);
    if (found) names = std::move(*found);
    else if (!stop.stop_requested()) warn_nameless(*subject, wanted.size(), found.error());  // else whoever stopped it asks again, or says so
  }
  NameWriter writer() {
    std::vector<FrameId> frames;
    frames.reserve(wanted.size());
    for (const Wanted& each : wanted) frames.push_back(each.frame);
    return NameWriter(std::move(*names), std::move(frames), subject->image, subject->kind == FrameKind::kKernel, subject->owner);
  }
};

}  // namespace

// Kept by the threads that use it, of which one may hang.
struct Symbolizer::Parts : std::enable_shared_from_this<Symbolizer::Parts> {
  Parts(ImageFiles& where, SymbolizeOptions wanted) : files(where), options(std::move(wanted)), cache(std::make_shared<ImageCache>(options)), namers(options.image_namers) {
    if (namers == nullptr) namers = local_image_namers(options, cache);
    if (options.kernel_names == nullptr) kallsyms = kallsyms_names();
  }

  ImageFiles& files;
  const SymbolizeOptions options;
  const std::shared_ptr<ImageCache> cache;
  std::shared_ptr<ImageNamers> namers;
  JitIndex jit;
  std::unique_ptr<KernelNames> kallsyms;
  std::map<std::pair<FrameKind, uint32_t>, Subject> subjects;  // the number: an image, an address space
  size_t frames_seen = 0;
  uint64_t images_seen = 0;  // namers know them by this number
  bool more_jit = false;
  uint64_t jit_additions = 0;

  bool full_busy = false;
  Clock::time_point next_full{};
  std::vector<std::shared_ptr<Question>> asked;
  std::mutex mutex;
  std::deque<std::shared_ptr<Question>> answered;  // under it
  std::optional<NameWriter> writer;

  Subject* find_subject(const ProfileSnapshot& profile, const profile::Frame& frame);
  void see_frames(const ProfileSnapshot& profile);
  void post(WorkQueue& queue, Subject& subject, NameDepth depth, std::vector<Wanted>& wanted);
  void post_full(WorkQueue& queue);
  void settle(Question& question);
  bool take_answer();
  class Ending;
  // Returns how many questions were abandoned.
  size_t ask_rest(Profile& profile, const NamingDeadlines& deadlines);
};

// Null: nobody knows names of such frames.
Subject* Symbolizer::Parts::find_subject(const ProfileSnapshot& profile, const profile::Frame& frame) {
  const bool native = frame.kind == FrameKind::kNative;
  if (frame.kind == FrameKind::kLabel || (native && !frame.image.valid())) return nullptr;
  const FrameKind kind = frame.kind == FrameKind::kUnknown ? FrameKind::kJit : frame.kind;
  const auto [at, added] = subjects.try_emplace({kind, native ? frame.image.value : frame.address_space});
  Subject& subject = at->second;
  if (!added) return &subject;
  subject.kind = kind;
  if (native) {
    subject.image = frame.image;
    subject.name = std::string(profile.text(profile.images()[frame.image.value].path));
    ImageFile file = files.find(profile, frame.image);
    subject.owner = file.owner;
    subject.is_trusted = file.owner == 0 || file.owner == options.user;
    subject.namer = namers->make({images_seen++, subject.name, std::move(file)});
  } else if (kind == FrameKind::kJit) {
    subject.name = "[jit]";
    subject.namer = std::make_unique<JitNamer>(jit, frame.address_space);
  } else {
    subject.name = "[kernel]";
    KernelNames* names = options.kernel_names;
    if (names == nullptr && recorded_by_this_boot(profile.header)) names = kallsyms.get();
    if (names != nullptr) subject.namer = std::make_unique<KernelNamer>(*names, cache->demangled());
  }
  return &subject;
}

void Symbolizer::Parts::see_frames(const ProfileSnapshot& profile) {
  for (; frames_seen < profile.frames().size(); ++frames_seen) {
    const FrameId id(frames_seen);
    if (!profile.locations(id).empty()) continue;
    const profile::Frame& frame = profile.frames()[frames_seen];
    if (Subject* subject = find_subject(profile, frame); subject != nullptr && subject->namer != nullptr) subject->fresh.push_back({frame.address, id});
  }
}

void Symbolizer::Parts::post(WorkQueue& queue, Subject& subject, NameDepth depth, std::vector<Wanted>& wanted) {
  auto question = std::make_shared<Question>();
  question->subject = &subject;
  question->depth = depth;
  question->jit_additions = jit_additions;
  std::swap(question->wanted, wanted);
  std::sort(question->wanted.begin(), question->wanted.end());
  question->job = queue.submit({.owner = subject.owner, .bytes = question->wanted.size() * sizeof(Wanted), .run = [self = shared_from_this(), question](WorkQueue::Attempt& attempt) {
    question->begun = true;
    const auto begin = work_time();
    question->ask(attempt.stop_token());
    question->cost = work_time() - begin;
    {
      const std::lock_guard lock(self->mutex);
      self->answered.push_back(question);
    }
    self->namers->trim();
  }});
  if (question->job == 0) {
    wanted = std::move(question->wanted);
    return;
  }
  subject.busy = true;
  if (depth == NameDepth::kFull) full_busy = true;
  asked.push_back(std::move(question));
}

void Symbolizer::Parts::post_full(WorkQueue& queue) {
  Subject* most = nullptr;
  for (auto& [key, subject] : subjects) {
    if (subject.busy || subject.failed || subject.fuller.empty()) continue;
    if (most == nullptr || subject.fuller.size() > most->fuller.size()) most = &subject;
  }
  if (most == nullptr) return;
  if (most->fuller.size() < std::max(kFewestFull, most->full / kNewShareFull) && Clock::now() < next_full) return;
  post(queue, *most, NameDepth::kFull, most->fuller);
}

// What an answer means for its subject. Those that were cut short do not count.
void Symbolizer::Parts::settle(Question& question) {
  Subject& subject = *question.subject;
  const bool full = question.depth == NameDepth::kFull;
  subject.busy = false;
  if (full) full_busy = false;
  subject.next = Clock::now() + question.cost * kSymbolCostFactor;
  if (full) next_full = Clock::now() + question.cost * kFullCostFactor;
  if (!question.names || question.names->cut_short) {
    subject.failed = true;
    question.names.reset();
    return append(full ? subject.fuller : subject.fresh, question.wanted);
  }
  subject.asked = true;
  subject.without_symbols = question.names->without_symbols;
  if (question.names->could_say_more && !full) {
    append(subject.fuller, question.wanted);
  } else {
    subject.full += question.wanted.size();
  }
  if (subject.kind != FrameKind::kJit) return;
  for (size_t i = 0; i < question.wanted.size(); ++i) {
    if (question.names->innermost[i].valid()) continue;
    (question.jit_additions == jit_additions ? subject.unknown : subject.fresh).push_back(question.wanted[i]);  // more may have come since it was asked
  }
}

bool Symbolizer::Parts::take_answer() {
  while (!writer) {
    std::shared_ptr<Question> question;
    {
      const std::lock_guard lock(mutex);
      if (answered.empty()) return false;
      question = std::move(answered.front());
      answered.pop_front();
    }
    std::erase(asked, question);
    settle(*question);
    if (question->names) writer.emplace(question->writer());
  }
  return true;
}

// Everything that is left of some subjects, on threads of its own. A question that does not end is abandoned with what it uses.
class Symbolizer::Parts::Ending {
 public:
  Ending(std::shared_ptr<Parts> parts, unsigned threads) : parts_(std::move(parts)), queue_({.thread_name = "cicada-names", .workers = threads, .stop_timeout = kGrace}) {}

  void ask(Subject& subject) {
    auto rest = std::make_shared<Rest>();
    rest->subject = &subject;
    for (std::vector<Wanted>* wanted : {&subject.fresh, &subject.fuller, &subject.unknown}) append(rest->wanted, std::exchange(*wanted, {}));
    subject.failed = false;
    if (rest->wanted.empty()) return;
    std::sort(rest->wanted.begin(), rest->wanted.end());
    rest_.push_back(std::move(rest));
  }
  void start(std::optional<Clock::time_point> deadline) {
    if (deadline && Clock::now() >= *deadline) stop_.request_stop();
    std::stable_sort(rest_.begin(), rest_.end(), [](const auto& a, const auto& b) { return a->wanted.size() > b->wanted.size(); });
    for (const auto& rest : rest_) {
      queue_.submit({.owner = rest->subject->owner, .run = [parts = parts_, rest, stop = stop_.get_token()](WorkQueue::Attempt& attempt) { open(parts, rest, attempt, stop); }});
    }
  }
  void wait(std::optional<Clock::time_point> deadline) {
    const bool in_time = queue_.wait_idle(until(deadline)) && !stop_.stop_requested();
    if (!in_time && !rest_.empty()) {
      stop_.request_stop();
      queue_.wait_idle(kGrace);
      diagnostics().warn("names", "not all names were looked up: it took too long");
    }
    queue_.stop();
  }
  // Returns how many questions were abandoned.
  size_t write(Profile& profile) {
    size_t abandoned = 0;
    for (const auto& rest : rest_) {
      Subject& subject = *rest->subject;
      subject.asked = true;
      subject.busy = !rest->opened;  // hangs
      abandoned += subject.busy;
      if (subject.busy) continue;
      if (rest->parts.empty()) {
        subject.failed = subject.without_symbols = true;
        append(subject.fresh, rest->wanted);
      }
      for (Question& question : rest->parts) {
        abandoned += !question.over;
        if (!question.over) continue;
        parts_->settle(question);
        if (question.names) question.writer().write(profile);
      }
    }
    return abandoned;
  }

 private:
  static constexpr std::chrono::milliseconds kGrace{200};
  struct Rest {
    Subject* subject = nullptr;
    std::vector<Wanted> wanted;  // sorted
    std::deque<Question> parts;
    std::atomic<size_t> open_parts{0};
    std::atomic<bool> opened{false};  // parts are final
  };

  static void open(const std::shared_ptr<Parts>& self, const std::shared_ptr<Rest>& rest, WorkQueue::Attempt& attempt, const std::stop_token& stop) {
    Result<std::vector<std::vector<uint32_t>>> parts = std::vector<std::vector<uint32_t>>();
    if (!stop.stop_requested()) parts = rest->subject->namer->open_parts(addresses_of(rest->wanted));
    if (!parts) warn_nameless(*rest->subject, rest->wanted.size(), parts.error());
    for (size_t i = 0; parts && i < parts->size(); ++i) {
      Question& question = rest->parts.emplace_back();
      question.subject = rest->subject;
      question.depth = NameDepth::kFull;
      for (const uint32_t index : (*parts)[i]) question.wanted.push_back(rest->wanted[index]);
    }
    rest->open_parts = rest->parts.size();
    rest->opened = true;
    for (Question& question : rest->parts) {
      attempt.submit({.owner = rest->subject->owner, .run = [self, rest, &question, stop](WorkQueue::Attempt&) {
                        if (!stop.stop_requested()) question.ask(stop);
                        question.over = true;
                        if (rest->open_parts.fetch_sub(1) == 1) rest->subject->namer->release();
                      }});
    }
  }

  std::shared_ptr<Parts> parts_;
  std::vector<std::shared_ptr<Rest>> rest_;
  std::stop_source stop_;
  WorkQueue queue_;
};

// Those of others have a deadline of their own: what is in them may be there to keep us busy.
size_t Symbolizer::Parts::ask_rest(Profile& profile, const NamingDeadlines& deadlines) {
  const unsigned threads = options.threads != 0 ? options.threads : few_threads();
  Ending trusted(shared_from_this(), threads), others(shared_from_this(), threads);
  for (auto& [key, subject] : subjects) {
    if (!subject.busy) (subject.is_trusted ? trusted : others).ask(subject);
  }
  trusted.start(deadlines.all);
  others.start(deadlines.of_others);
  others.wait(deadlines.of_others);
  trusted.wait(deadlines.all);
  const size_t abandoned = trusted.write(profile) + others.write(profile);
  namers->trim();
  return abandoned;
}

Symbolizer::Symbolizer(ImageFiles& files, SymbolizeOptions options)
    : parts_(std::make_shared<Parts>(files, std::move(options))), queue_(std::make_unique<WorkQueue>(kBackground)) {}
Symbolizer::~Symbolizer() = default;

void Symbolizer::add_jit_symbols(std::vector<JitSymbol> symbols) {
  if (symbols.empty()) return;
  parts_->more_jit = true;
  ++parts_->jit_additions;
  parts_->jit.add(std::move(symbols));
}

void Symbolizer::rebase(const ProfileSnapshot& before, profile::RowCopier& ids) {
  Parts& p = *parts_;
  p.see_frames(before);
  const auto rebase_frames = [&](std::vector<Wanted>& wanted) {
    std::erase_if(wanted, [&](Wanted& each) { return !(each.frame = ids.find(each.frame).value_or(FrameId())).valid(); });
  };
  std::map<std::pair<FrameKind, uint32_t>, Subject> kept;
  while (!p.subjects.empty()) {
    auto node = p.subjects.extract(p.subjects.begin());
    Subject& subject = node.mapped();
    for (std::vector<Wanted>* wanted : {&subject.fresh, &subject.fuller, &subject.unknown}) rebase_frames(*wanted);
    const bool waits = subject.busy || !subject.fresh.empty() || !subject.fuller.empty() || !subject.unknown.empty();
    if (subject.kind == FrameKind::kJit && !waits) continue;
    if (subject.kind == FrameKind::kNative) {
      if (!waits && !ids.find(subject.image)) continue;
      node.key().second = (subject.image = ids.image(subject.image)).value;
    }
    kept.insert(std::move(node));
  }
  p.subjects = std::move(kept);
  // Whoever looks names up reads the addresses meanwhile, not the frames.
  for (const auto& question : p.asked) {
    for (Wanted& each : question->wanted) each.frame = ids.find(each.frame).value_or(FrameId());
  }
  if (p.writer) p.writer->rebase(ids);
  p.frames_seen = ids.into().frames().size();
}

void Symbolizer::request(const ProfileSnapshot& profile) {
  Parts& p = *parts_;
  p.see_frames(profile);
  const auto now = Clock::now();
  for (auto& [key, subject] : p.subjects) {
    if (p.more_jit) append(subject.fresh, std::exchange(subject.unknown, {}));
    if (!subject.fresh.empty() && !subject.busy && !subject.failed && now >= subject.next) p.post(*queue_, subject, NameDepth::kSymbols, subject.fresh);
  }
  p.more_jit = false;
  if (!p.full_busy && !p.options.debuginfod) p.post_full(*queue_);
}

size_t Symbolizer::apply_ready(Profile& profile) {
  Parts& p = *parts_;
  size_t named = 0;
  const auto end = Clock::now() + kApplyTime;
  while (p.take_answer()) {
    while (p.writer->write(profile, kFramesAtATime)) {
      if (Clock::now() >= end) return named;
    }
    named += p.writer->named();
    p.writer.reset();
    if (Clock::now() >= end) break;
  }
  return named;
}

SymbolizeStats Symbolizer::finish(Profile& profile, NamingDeadlines deadlines) {
  if (!deadlines.of_others) deadlines.of_others = deadlines.all;
  const auto start = Clock::now();
  const auto cpu_start = cpu_time(CLOCK_PROCESS_CPUTIME_ID);
  Parts& p = *parts_;
  p.see_frames(profile);
  queue_->set_nice(0);  // somebody waits
  for (const auto& question : p.asked) queue_->cancel(question->job);
  for (const auto& question : p.asked) queue_->wait(question->job, until(question->subject->is_trusted ? deadlines.all : deadlines.of_others));
  queue_->set_nice(kBackground.nice);
  while (p.take_answer()) {
    p.writer->write(profile);
    p.writer.reset();
  }
  std::erase_if(p.asked, [&](const auto& question) {
    if (!question->begun) p.settle(*question);
    return !question->begun;
  });
  SymbolizeStats stats;
  const auto is_named = [&](size_t frame) {
    const auto locations = profile.locations(FrameId(frame));
    return !locations.empty() && locations.back().source != NameSource::kCallFrame;
  };
  for (size_t i = 0; i < profile.frames().size(); ++i) stats.named_before += is_named(i);
  stats.abandoned = p.ask_rest(profile, deadlines) + p.asked.size();
  for (const auto& [key, subject] : p.subjects) {
    stats.images += subject.kind == FrameKind::kNative && subject.asked;
    stats.images_without_symbols += subject.kind == FrameKind::kNative && subject.without_symbols;
  }
  for (size_t i = 0; i < profile.frames().size(); ++i) {
    stats.frames += profile.frames()[i].kind != FrameKind::kLabel;
    stats.named += is_named(i);
  }
  const auto seconds = [](auto duration) { return std::chrono::duration<double>(duration).count(); };
  stats.seconds = seconds(Clock::now() - start);
  stats.cpu_seconds = seconds(cpu_time(CLOCK_PROCESS_CPUTIME_ID) - cpu_start);
  return stats;
}

SymbolizeStats symbolize(Profile& profile, ImageFiles& files, const SymbolizeOptions& options) { return Symbolizer(files, options).finish(profile); }

}  // namespace cicada::symbolize
