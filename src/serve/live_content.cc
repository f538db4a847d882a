// SPDX-License-Identifier: Apache-2.0
#include "serve/live_content.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <thread>
#include <vector>

#include "attach/viewer_socket.h"
#include "base/catching.h"
#include "profile/profile_merge.h"
#include "sink/flamegraph/html.h"
#include "sink/sink_registry.h"

namespace cicada::serve {
namespace {

using profile::EventId;
using profile::ProfileSnapshot;
using web::Answer;
using web::Query;

constexpr uint64_t kUpdatesBehind = 2, kMostBehindNs = 4'000'000'000;  // that are waited for behind the end of a profile

std::string find_text(const Query& query, const std::string& key) {
  const auto found = query.find(key);
  return found == query.end() ? "" : found->second;
}

Result<unsigned> find_number(const Query& query, const std::string& key, unsigned otherwise, unsigned most) {
  const std::string text = find_text(query, key);
  if (text.empty()) return otherwise;
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number > most) return make_error(ErrorKind::kInvalid, "{}={}: a number from 0 to {}", key, text, most);
  return number;
}

Result<EventId> find_event(const Query& query) { return EventId{static_cast<uint8_t>(TRY(find_number(query, "e", 0, 255)))}; }

Answer refuse(int status, std::string why) { return {.status = status, .body = std::move(why) + "\n"}; }

// Into memory, through a pipe: this process makes no files, and memory that it shares would be in no limit.
class MemoryFile final : public sink::OutputOpener {
 public:
  Result<UniqueFd> open(const std::string& path) override {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error(errno, path);
    reader_ = std::jthread([this, from = UniqueFd(ends[0])] {
      std::array<char, 32 << 10> block;
      ssize_t got;
      while ((got = ::read(from.get(), block.data(), block.size())) > 0 || (got < 0 && errno == EINTR)) {
        if (got <= 0 || !kept_) continue;
        kept_ = catching("what is saved", [&] { return content_.append(block.data(), static_cast<size_t>(got)), Result<void>(); });
      }
    });
    return UniqueFd(ends[1]);
  }
  Result<void> commit(const std::string&) override { return {}; }
  // Once who wrote has closed it.
  Result<std::string> take() {
    if (reader_.joinable()) reader_.join();
    TRY(kept_);
    return std::move(content_);
  }

 private:
  std::string content_;
  Result<void> kept_{};
  std::jthread reader_;
};

Result<std::string> written_as(const ProfileSnapshot& profile, const std::string& name, const std::string& title, std::optional<EventId> event) {
  const auto file = std::make_shared<MemoryFile>();
  sink::SinkOptions options;
  options.title = title;
  options.rights.opener = file;
  options.tree.event = event;
  const auto sink = TRY(sink::make_sink(name, options));
  TRY(sink->finish(profile));
  return file->take();
}

std::string_view type_of(std::string_view extension) {
  if (extension.ends_with(".json")) return "application/json";
  if (extension == ".svg") return "image/svg+xml";
  if (extension == ".html") return "text/html; charset=utf-8";
  if (extension == ".folded" || extension == ".txt") return "text/plain; charset=utf-8";
  return "application/octet-stream";
}

// What was sampled in [begin_ns, end_ns), as a recording of its own.
profile::Profile part_of(const ProfileSnapshot& all, uint64_t begin_ns, uint64_t end_ns) {
  profile::Profile part = profile::extract(all, [&](const ProfileSnapshot& profile, size_t i) { return profile.samples().time_ns[i] >= begin_ns && profile.samples().time_ns[i] < end_ns; });
  part.forget_cpu_times();
  profile::Header& header = part.header;
  header.warnings = all.header.warnings;
  header.start_realtime_ns += begin_ns - header.start_monotonic_ns;
  header.start_monotonic_ns = begin_ns;
  header.duration_ns = end_ns - begin_ns;
  return part;
}

uint64_t monotonic_ns() { return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()); }

}  // namespace

LiveContent::State LiveContent::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void LiveContent::update(std::shared_ptr<const ProfileSnapshot> now, sink::PageState page) {
  {
    const std::lock_guard lock(mutex_);
    page.controls = page.controls && control_ != nullptr;
    state_ = {std::move(now), std::move(page)};
    ++updates_;
  }
  changed_.notify_all();
}

std::shared_ptr<const sink::PageFeed::Message> LiveContent::message_for(Stream& stream, const State& state, uint64_t updates, const std::string& last) {
  const std::lock_guard lock(stream.mutex);
  if (stream.updates < updates) {  // else another page has brought it further
    stream.feed.update(*state.profile, state.page);
    stream.updates = updates;
  }
  return stream.feed.since(last);
}

Result<std::optional<web::Event>> LiveContent::next(const Query& query, const std::string& last, std::chrono::milliseconds wait) {
  EventId event = TRY(find_event(query));
  const std::string has = last.empty() ? find_text(query, "last") : last;
  std::unique_lock lock(mutex_);
  const auto& events = state_.profile->header.events;
  if (event.value >= events.size()) event = {};  // a page that asks for what the recorder before had
  const auto deadline = std::chrono::steady_clock::now() + wait;
  auto& stream = streams_[event.value];
  if (!stream) stream = std::make_unique<Stream>(event, title_);
  for (;;) {
    const uint64_t seen = updates_;
    const State now = state_;
    lock.unlock();
    if (const auto message = message_for(*stream, now, seen, has)) return std::optional(web::Event{message->id, message->data});
    lock.lock();
    if (!changed_.wait_until(lock, deadline, [&] { return updates_ != seen; })) return std::optional<web::Event>();
  }
}

Answer LiveContent::get(const std::string& path, const Query& query, const std::function<bool()>& gone) {
  if (path.empty()) return {.type = "text/html; charset=utf-8", .body = sink::live_page_html(title_, sink::known_formats())};
  if (path == "download") return download(query);
  if (path == "debug/pprof/profile") return pprof(query, gone);
  return refuse(404, fmt::format("{}: there is no such thing here; there are download?format=.svg and debug/pprof/profile?seconds=30", path));
}

Answer LiveContent::post(const std::string& path, const Query& query) {
  const bool known = path == attach::kPause || path == attach::kResume || path == attach::kStop || path == "record";
  if (!control_ || !known) return refuse(404, fmt::format("{}: no such control; there are pause, resume, stop and record?events=cpu-clock&processes=nginx, of what is being recorded", path));
  const Result<void> done = control_(path != "record" ? path : fmt::format("{}{}\t{}", attach::kRecord, find_text(query, "events"), find_text(query, "processes")));
  return done ? Answer{.body = "done\n"} : refuse(done.error().kind() == ErrorKind::kGone ? 410 : 400, done.error().message());
}

Answer LiveContent::download(const Query& query) const {
  const std::string format = find_text(query, "format"), name = "cicada" + format;
  const auto formats = sink::known_formats();
  if (std::none_of(formats.begin(), formats.end(), [&](const sink::Format& one) { return one.extension == format; }))
    return refuse(400, fmt::format("format={}: use one of those that `cicada convert --help` lists, as format=.svg", format));
  const Result<EventId> event = find_event(query);
  if (!event) return refuse(400, event.error().message());
  const State now = state();
  // Formats that hold all events do not ask for one.
  const bool one = now.profile->header.events.size() > event->value && query.contains("e") && format != ".cicada" && format != ".html";
  Result<std::string> written = written_as(*now.profile, name, title_, one ? std::optional(*event) : std::nullopt);
  if (!written) return refuse(500, written.error().message());
  return {.type = std::string(type_of(format)), .body = std::move(*written), .file_name = name};
}

// What was sampled in a moment is here some moments later.
Answer LiveContent::pprof(const Query& query, const std::function<bool()>& gone) const {
  const Result<unsigned> seconds = find_number(query, "seconds", kUsualSeconds, kMostSeconds);
  if (!seconds) return refuse(400, seconds.error().message());
  if (keep_ns_ && *seconds * uint64_t{1'000'000'000} > *keep_ns_) return refuse(400, fmt::format("seconds={}: only the last {} s are kept here, see --last", *seconds, *keep_ns_ / 1'000'000'000));
  const uint64_t begin_ns = monotonic_ns(), end_ns = begin_ns + *seconds * uint64_t{1'000'000'000};
  std::unique_lock lock(mutex_);
  const bool finished = !state_.page.ended.empty();
  uint64_t updates_at_end = 0;
  while (state_.page.ended.empty() && (monotonic_ns() < end_ns || (updates_ < updates_at_end + kUpdatesBehind && monotonic_ns() < end_ns + kMostBehindNs))) {
    if (monotonic_ns() < end_ns) updates_at_end = updates_;
    changed_.wait_for(lock, std::chrono::milliseconds(100));
    if (gone()) return refuse(503, "nobody waits for it any more");
  }
  const State now = state_;
  lock.unlock();
  Result<std::string> written = finished ? written_as(*now.profile, "profile.pb.gz", title_, std::nullopt)
                                         : written_as(part_of(*now.profile, begin_ns, end_ns), "profile.pb.gz", title_, std::nullopt);
  if (!written) return refuse(500, written.error().message());
  return {.type = "application/octet-stream", .body = std::move(*written), .file_name = "profile.pb.gz"};
}

}  // namespace cicada::serve
