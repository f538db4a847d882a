// SPDX-License-Identifier: Apache-2.0
// What browsers and collectors are shown of a profile that grows, or of one that is finished.
//
//   ""                               the page (sink/flamegraph/html.h)
//   events?e=N&last=ID               its stream: of event N, from what it has on
//   download?format=.svg&e=N         all there is now, in one of the formats that cicada writes
//   POST pause, resume, stop         of the recording
//   POST record?events=E&processes=P from now on other events (with spaces between them), and these processes only (with commas); empty: the usual, all
//   debug/pprof/profile?seconds=N    what comes in the next N seconds, as net/http/pprof gives it
//
// Threads: any.
#pragma once
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "profile/snapshot.h"
#include "sink/flamegraph/page_feed.h"
#include "web/http_server.h"

namespace cicada::serve {

class LiveContent final : public web::Content {
 public:
  static constexpr unsigned kMostSeconds = 3600, kUsualSeconds = 30;  // of debug/pprof/profile; the second as in Go

  // `keep_ns`: of what is sampled no more than the last so much is kept.
  explicit LiveContent(std::string title, std::optional<uint64_t> keep_ns = {}) : title_(std::move(title)), keep_ns_(keep_ns) {}
  // Later than the last one, or of another profile.
  void update(std::shared_ptr<const profile::ProfileSnapshot> now, sink::PageState state = {});
  // Who passes on what is asked of the recorder, a line each (attach/viewer_socket.h). Before anybody asks.
  using Control = std::function<Result<void>(std::string_view)>;
  void set_control(Control control) { control_ = std::move(control); }

  web::Answer get(const std::string& path, const web::Query& query, const std::function<bool()>& gone) override;
  web::Answer post(const std::string& path, const web::Query& query) override;
  Result<std::optional<web::Event>> next(const web::Query& query, const std::string& last, std::chrono::milliseconds wait) override;

 private:
  struct State {
    std::shared_ptr<const profile::ProfileSnapshot> profile;
    sink::PageState page;
  };
  State state() const;
  // Of one event that somebody looks at. Who asks brings it up to date: making a message for a page that begins takes a while, and nobody else waits for that.
  struct Stream {
    Stream(profile::EventId event, const std::string& title) : feed({.event = event}, title) {}
    std::mutex mutex;
    sink::PageFeed feed;
    uint64_t updates = 0;  // that it has seen
  };
  std::shared_ptr<const sink::PageFeed::Message> message_for(Stream& stream, const State& state, uint64_t updates, const std::string& last);
  web::Answer download(const web::Query& query) const;
  web::Answer pprof(const web::Query& query, const std::function<bool()>& gone) const;

  const std::string title_;
  const std::optional<uint64_t> keep_ns_;
  Control control_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  State state_{std::make_shared<const profile::ProfileSnapshot>(), {}};
  uint64_t updates_ = 1;
  std::map<uint8_t, std::unique_ptr<Stream>> streams_;
};

}  // namespace cicada::serve
