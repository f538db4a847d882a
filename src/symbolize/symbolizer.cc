// SPDX-License-Identifier: Apache-2.0
// How often a subject is asked while recording follows from what it costs. Symbol tables: again after 20 times what the last question took,
// which is at once for one that is open, but for a few addresses once a second, in the long run every three: most of what those cost is the
// question itself.
// DWARF: when a fourth of the frames wait for it, so there are a dozen questions in a minute, each is worth decoding compilation units again,
// and the end has a fifth of the work left; or after 100 times what the last question took, for all subjects together: a percent of a CPU.
#include "symbolize/symbolizer.h"

#include <algorithm>
#include <list>
#include <map>
#include <mutex>
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
constexpr size_t kFewAddresses = 64;
constexpr std::chrono::seconds kFewAgain(1), kMostFewAgain(3);
constexpr unsigned kQuestionsPerSecond = 4;  // after so many, few addresses wait a second longer
constexpr std::chrono::microseconds kApplyTime(900);
constexpr size_t kFramesAtATime = 32;  // between two looks at the clock
// Of the threads that work meanwhile, beside our other threads: a tenth of their share. With 19 nothing would be done by the end of a
// recording on a busy machine. Two, so that a file that takes long does not keep others waiting.
constexpr WorkQueue::Options kBackground{
    .thread_name = "cicada-names", .workers = 2, .nice = 10, .max_bytes = 64 << 20};

struct Wanted {
  uint64_t address = 0;
  FrameId frame;
  auto operator<=>(const Wanted&) const = default;
};

std::chrono::milliseconds until(std::optional<Clock::time_point> deadline) {
  return deadline ? std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()) : WorkQueue::kForever;
}

bool is_past(std::optional<Clock::time_point> deadline) { return deadline && Clock::now() >= *deadline; }

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
  unsigned questions = 0;       // that were answered
  bool busy = false, failed = false, asked = false, without_symbols = true, waits = false;
  Clock::time_point next{}, next_few{};  // not asked before; for a few addresses not before

  bool has_questions() const { return !fresh.empty() || !fuller.empty(); }
  bool is_due(Clock::time_point now) const { return !fresh.empty() && !busy && !failed && now >= next && (fresh.size() >= kFewAddresses || now >= next_few); }
};

struct Question {
  Subject* subject = nullptr;
  NameDepth depth = NameDepth::kSymbols;
  uint64_t jit_additions = 0;  // there were when it was asked
  std::vector<Wanted> wanted;  // sorted
  bool is_part = false;        // of another
  std::optional<NamedAddresses> names{};  // the answer
  std::chrono::nanoseconds cost{};
  bool cut_short = true;  // there was no time for an answer
  bool over = false;        // no thread has it

  std::vector<uint64_t> addresses() const {
    std::vector<uint64_t> addresses;
    addresses.reserve(wanted.size());
    for (const Wanted& each : wanted) addresses.push_back(each.address);
    return addresses;
  }
  NameWriter writer() {
    std::vector<FrameId> frames;
    frames.reserve(wanted.size());
    for (const Wanted& each : wanted) frames.push_back(each.frame);
    return NameWriter(std::move(*names), std::move(frames), subject->image, subject->kind == FrameKind::kKernel, subject->owner);
  }
};

// Questions, and the threads that put them to namers. Each question comes back, at the latest after stop().
//
//   post() ──▶ waits ──▶ a thread: cuts it into parts if everything is wanted; the namer ──▶ take()
//
// Threads: the profile's; workers inside.
class Questions {
 public:
  Questions(const WorkQueue::Options& options, ImageNamers& namers) : namers_(namers), queue_(options) {}

  void post(Question question) {
    const auto posted = std::make_shared<Question>(std::move(question));
    {
      const std::lock_guard lock(mutex_);
      all_.push_back(posted);
    }
    submit(queue_, posted);
  }
  // One that is over. Null: there is none.
  std::shared_ptr<Question> take() {
    const std::lock_guard lock(mutex_);
    const auto at = std::find_if(all_.begin(), all_.end(), [&](const Pointer& each) { return each->over || stopped_; });
    if (at == all_.end()) return nullptr;
    const Pointer question = std::move(*at);
    all_.erase(at);
    return question;
  }
  // For all to be over.
  void wait(std::optional<Clock::time_point> deadline) { queue_.wait_idle(until(deadline)); }
  // All are over then, some without an answer, and the threads have ended.
  void stop() {
    queue_.set_nice(0);  // somebody waits
    queue_.stop();
    stopped_ = true;
  }
  // Workers read addresses, not frames.
  void rebase(profile::RowCopier& ids) {
    const std::lock_guard lock(mutex_);
    for (const Pointer& question : all_) {
      for (Wanted& each : question->wanted) each.frame = ids.find(each.frame).value_or(FrameId());
    }
  }

 private:
  using Pointer = std::shared_ptr<Question>;

  template <typename Queue>
  void submit(Queue& queue, const Pointer& question) {
    const auto id = queue.submit({.owner = question->subject->owner,
                                  .bytes = question->wanted.size() * sizeof(Wanted),
                                  .run = [this, question](WorkQueue::Attempt& attempt) { run(question, attempt); },
                                  .give_up = [this, question](const Error&) { end(*question); }});
    if (id == 0) end(*question);
  }
  void run(const Pointer& question, WorkQueue::Attempt& attempt) {
    const auto begin = work_time();
    const Result<void> asked = ask(question, attempt);
    question->cut_short = attempt.stop_token().stop_requested() && (!asked || question->names->cut_short);
    if (!asked && !question->cut_short) {
      diagnostics().warn(question->subject->name, "no names for {} addresses: {}", question->wanted.size(), asked.error().message());
    }
    question->cost = work_time() - begin;
    end(*question);
    if (question->depth != NameDepth::kAll) namers_.trim();
  }
  Result<void> ask(const Pointer& question, WorkQueue::Attempt& attempt) {
    Namer& namer = *question->subject->namer;
    const std::stop_token stop = attempt.stop_token();
    const bool whole = question->depth == NameDepth::kAll && !question->is_part;
    if (whole) split(question, TRY(namer.parts(question->addresses(), stop)), attempt);
    question->names = TRY(namer.name(question->addresses(), question->depth, stop));
    return {};
  }
  // It keeps the first part.
  void split(const Pointer& question, const std::vector<std::vector<uint32_t>>& parts, WorkQueue::Attempt& attempt) {
    std::vector<Pointer> all(1, question);
    for (size_t i = 1; i < parts.size(); ++i) {
      all.push_back(std::make_shared<Question>(Question{question->subject, question->depth, question->jit_additions, {}, true}));
    }
    const std::vector<Wanted> wanted = std::exchange(question->wanted, {});
    for (size_t i = 0; i < parts.size(); ++i) {
      for (const uint32_t index : parts[i]) all[i]->wanted.push_back(wanted[index]);
    }
    {
      const std::lock_guard lock(mutex_);
      all_.insert(std::next(std::find(all_.begin(), all_.end(), question)), all.begin() + 1, all.end());
    }
    for (size_t i = 1; i < parts.size(); ++i) submit(attempt, all[i]);
  }
  void end(Question& question) {
    const std::lock_guard lock(mutex_);
    question.over = true;
  }

  ImageNamers& namers_;
  std::mutex mutex_;
  std::list<Pointer> all_;  // under it: in the order of post(), parts behind the first one; and `over` of each
  bool stopped_ = false;
  WorkQueue queue_;
};

}  // namespace

struct Symbolizer::Parts {
  Parts(ImageFiles& where, SymbolizeOptions wanted) : files(where), options(std::move(wanted)), cache(std::make_shared<ImageCache>(options)), namers(options.image_namers) {
    if (namers == nullptr) namers = local_image_namers(options, cache);
    if (options.kernel_names == nullptr) kallsyms = kallsyms_names();
    background.emplace(kBackground, *namers);
  }

  ImageFiles& files;
  const SymbolizeOptions options;
  const std::shared_ptr<ImageCache> cache;
  std::shared_ptr<ImageNamers> namers;
  JitIndex jit;
  std::unique_ptr<KernelNames> kallsyms;
  std::map<std::pair<FrameKind, uint32_t>, Subject> subjects;  // the number: an image, an address space
  std::vector<Subject*> waiting;  // those with something to ask for: most, of processes that have ended, have nothing
  size_t frames_seen = 0;
  uint64_t images_seen = 0;  // namers know them by this number
  bool more_jit = false;
  uint64_t jit_additions = 0;

  bool full_busy = false;
  Clock::time_point next_full{};
  size_t cut_short = 0;  // questions
  std::optional<NameWriter> writer;
  std::optional<Questions> background;

  Subject* find_subject(const ProfileSnapshot& profile, const profile::Frame& frame);
  void see_frames(const ProfileSnapshot& profile);
  void note_waiting(Subject& subject);
  void post(Questions& to, Subject& subject, NameDepth depth, std::vector<Wanted>& wanted);
  void post_full();
  void post_rest(Questions& to, bool trusted);
  void settle(Question& question);
  bool take_answer(Questions& from);
  void stop_and_write(Questions& questions, Profile& profile);
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
    if (Subject* subject = find_subject(profile, frame); subject != nullptr && subject->namer != nullptr) {
      subject->fresh.push_back({frame.address, id});
      note_waiting(*subject);
    }
  }
}

// It got more to ask for.
void Symbolizer::Parts::note_waiting(Subject& subject) {
  if (subject.has_questions() && !std::exchange(subject.waits, true)) waiting.push_back(&subject);
}

void Symbolizer::Parts::post(Questions& to, Subject& subject, NameDepth depth, std::vector<Wanted>& wanted) {
  subject.busy = subject.asked = true;
  if (depth == NameDepth::kFull) full_busy = true;
  std::sort(wanted.begin(), wanted.end());
  to.post({&subject, depth, jit_additions, std::exchange(wanted, {})});
}

void Symbolizer::Parts::post_full() {
  Subject* most = nullptr;
  for (Subject* subject : waiting) {
    if (subject->busy || subject->failed || subject->fuller.empty()) continue;
    if (most == nullptr || subject->fuller.size() > most->fuller.size()) most = subject;
  }
  if (most == nullptr) return;
  if (most->fuller.size() < std::max(kFewestFull, most->full / kNewShareFull) && Clock::now() < next_full) return;
  post(*background, *most, NameDepth::kFull, most->fuller);
}

// All that is left of the subjects of some, the most first.
void Symbolizer::Parts::post_rest(Questions& to, bool trusted) {
  std::vector<Subject*> rest;
  for (auto& [key, subject] : subjects) {
    if (subject.is_trusted != trusted) continue;
    for (std::vector<Wanted>* more : {&subject.fuller, &subject.unknown}) append(subject.fresh, std::exchange(*more, {}));
    subject.failed = false;
    if (!subject.fresh.empty()) rest.push_back(&subject);
  }
  std::stable_sort(rest.begin(), rest.end(), [](const Subject* a, const Subject* b) { return a->fresh.size() > b->fresh.size(); });
  for (Subject* subject : rest) post(to, *subject, NameDepth::kAll, subject->fresh);
}

// What an answer means for its subject. Those that were cut short do not count.
void Symbolizer::Parts::settle(Question& question) {
  Subject& subject = *question.subject;
  const bool full = question.depth != NameDepth::kSymbols;
  subject.busy = false;
  cut_short += question.cut_short;
  if (full) full_busy = false;
  subject.next = Clock::now() + question.cost * kSymbolCostFactor;
  subject.next_few = Clock::now() + std::min(kFewAgain + std::chrono::seconds(subject.questions++ / kQuestionsPerSecond), kMostFewAgain);
  if (full) next_full = Clock::now() + question.cost * kFullCostFactor;
  if (!question.names || question.names->cut_short) {
    subject.failed = true;
    question.names.reset();
    return append(full ? subject.fuller : subject.fresh, question.wanted);
  }
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

bool Symbolizer::Parts::take_answer(Questions& from) {
  while (!writer) {
    const std::shared_ptr<Question> question = from.take();
    if (question == nullptr) return false;
    settle(*question);
    note_waiting(*question->subject);
    if (question->names) writer.emplace(question->writer());
  }
  return true;
}

void Symbolizer::Parts::stop_and_write(Questions& questions, Profile& profile) {
  questions.stop();
  for (; take_answer(questions); writer.reset()) writer->write(profile);
}

Symbolizer::Symbolizer(ImageFiles& files, SymbolizeOptions options) : parts_(std::make_unique<Parts>(files, std::move(options))) {}
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
  p.waiting.clear();
  for (auto& [key, subject] : p.subjects) {
    subject.waits = false;
    p.note_waiting(subject);
  }
  p.background->rebase(ids);
  if (p.writer) p.writer->rebase(ids);
  p.frames_seen = ids.into().frames().size();
}

void Symbolizer::request(const ProfileSnapshot& profile) {
  Parts& p = *parts_;
  p.see_frames(profile);
  const auto now = Clock::now();
  if (std::exchange(p.more_jit, false)) {
    for (auto& [key, subject] : p.subjects) {
      append(subject.fresh, std::exchange(subject.unknown, {}));
      p.note_waiting(subject);
    }
  }
  for (Subject* subject : p.waiting) {
    if (subject->is_due(now)) p.post(*p.background, *subject, NameDepth::kSymbols, subject->fresh);
  }
  if (!p.full_busy && !p.options.debuginfod) p.post_full();
  std::erase_if(p.waiting, [](Subject* subject) { return !(subject->waits = subject->has_questions()); });
}

size_t Symbolizer::apply_ready(Profile& profile) {
  Parts& p = *parts_;
  size_t named = 0;
  const auto end = Clock::now() + kApplyTime;
  while (p.take_answer(*p.background)) {
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
  p.stop_and_write(*p.background, profile);
  p.background.emplace(kBackground, *p.namers);
  SymbolizeStats stats;
  const auto is_named = [&](size_t frame) {
    const auto locations = profile.locations(FrameId(frame));
    return !locations.empty() && locations.back().source != NameSource::kFunctionBegin;
  };
  for (size_t i = 0; i < profile.frames().size(); ++i) stats.named_before += is_named(i);

  // Those of others have a deadline and threads of their own: what is in them may be there to keep us busy.
  const unsigned threads = p.options.threads != 0 ? p.options.threads : few_threads();
  const WorkQueue::Options in_front{.thread_name = kBackground.thread_name, .workers = threads};
  Questions trusted(in_front, *p.namers), others(in_front, *p.namers);
  if (is_past(deadlines.all)) trusted.stop();
  if (is_past(deadlines.of_others)) others.stop();
  p.cut_short = 0;
  p.post_rest(trusted, true);
  p.post_rest(others, false);
  others.wait(deadlines.of_others);
  p.stop_and_write(others, profile);
  trusted.wait(deadlines.all);
  p.stop_and_write(trusted, profile);
  p.namers->trim();
  stats.cut_short = p.cut_short;
  if (stats.cut_short != 0) diagnostics().warn("names", "not all names were looked up: it took too long");

  for (const auto& [key, subject] : p.subjects) {
    stats.images += subject.kind == FrameKind::kNative && subject.asked;
    stats.images_without_symbols += subject.kind == FrameKind::kNative && subject.asked && subject.without_symbols;
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
