// SPDX-License-Identifier: Apache-2.0
// HTTP for a browser on this machine (or one that was told the token): a page, what it loads, controls, and a stream of events.
//
//   /TOKEN/          the page             /TOKEN/events   server-sent events
//   /TOKEN/REST      Content::get(REST)   POST /TOKEN/REST   Content::post(REST), without a body
//
// Which requests are answered: request_rules.h. Who is connected, and for how long: connections.h.
// Built on httplib for parsing and writing; its own loop and threads are not used.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "web/listener.h"

namespace cicada::web {

struct Answer {
  int status = 200;
  std::string type = {}, body = {};  // type: of text by default
  std::string file_name = {};        // set: the browser stores it as that
};

// Neither holds a newline; an id no '%', which httplib takes for the start of a coded character.
struct Event {
  std::string id, data;
};

using Query = std::map<std::string, std::string>;

// What is served. Threads: called on the server's, several at a time.
class Content {
 public:
  virtual ~Content() = default;
  // `path` is what stands behind the token; "" is the page. 404 for what is not there. May take long: `gone` says that nobody waits for it any more.
  // HEAD asks, too.
  virtual Answer get(const std::string& path, const Query& query, const std::function<bool()>& gone) = 0;
  virtual Answer post(const std::string& path, const Query& query) = 0;
  // The event that follows `last` ("": from the start). Waits for it at most `wait`; nullopt: nothing new.
  // Fails where there is no such stream: kNotFound 404, kInvalid 400, kPermission 403, kGone 410, kLimit 503; later it ends the stream.
  virtual Result<std::optional<Event>> next(const Query& query, const std::string& last, std::chrono::milliseconds wait) = 0;
};

struct HttpOptions {
  std::string token = {};               // letters and digits; "": none
  bool controls = true;                 // POST is answered
  std::vector<std::string> hosts = {};  // further names of this machine
  std::string policy = "default-src 'none'";  // Content-Security-Policy
  std::chrono::milliseconds read_timeout{5'000}, write_timeout{10'000};  // connections.h
  std::chrono::milliseconds silence{15'000};  // of a stream; then a comment finds out whether somebody reads
};

class HttpServer {
 public:
  static constexpr size_t kMaxStreams = 16, kMaxConnections = 64, kMaxThreads = kMaxStreams + 8;
  static constexpr size_t kMaxRequests = 100;  // of one connection
  static constexpr size_t kMaxHead = 16 << 10, kMaxBody = 4 << 10;
  static constexpr auto kEventWait = std::chrono::milliseconds(500);  // the longest that ~HttpServer waits for a stream

  // Borrows `content`. The threads block all signals; what SIGPIPE does stays as it was.
  static Result<std::unique_ptr<HttpServer>> start(Listener listener, HttpOptions options, Content& content);
  // Ends at once, also with streams open and clients that read nothing; waits for Content to return.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

 private:
  struct State;
  explicit HttpServer(std::unique_ptr<State> state);
  const std::unique_ptr<State> state_;
};

}  // namespace cicada::web
