// SPDX-License-Identifier: Apache-2.0
// What browsers and collectors are shown of a profile that grows, or of one that is finished.
//
//   ""                               the page (sink/flamegraph/html.h)
//   events?e=N&last=ID               its stream: of event N, from what it has on
//   download?format=.svg&e=N         all there is now, in one of the formats that cicada writes
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
  // Later than the last one, or of another profile. `ended`: what pages say then; empty: it goes on.
  void update(std::shared_ptr<const profile::ProfileSnapshot> now, std::string ended = "");

  web::Answer get(const std::string& path, const web::Query& query, const std::function<bool()>& gone) override;
  web::Answer post(const std::string& path, const web::Query& query) override;
  Result<std::optional<web::Event>> next(const web::Query& query, const std::string& last, std::chrono::milliseconds wait) override;

 private:
  struct State {
    std::shared_ptr<const profile::ProfileSnapshot> profile;
    std::string ended;
  };
  State state() const;
  sink::PageFeed& feed_of(profile::EventId event);
  web::Answer download(const web::Query& query) const;
  web::Answer pprof(const web::Query& query, const std::function<bool()>& gone) const;

  const std::string title_;
  const std::optional<uint64_t> keep_ns_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  State state_{std::make_shared<const profile::ProfileSnapshot>(), ""};
  uint64_t updates_ = 0;
  std::map<uint8_t, sink::PageFeed> feeds_;  // of the events that somebody looks at
};

}  // namespace cicada::serve
