// SPDX-License-Identifier: Apache-2.0
#include "web/http_server.h"

#include <httplib.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <string_view>

#include "web/connections.h"
#include "web/request_rules.h"

namespace cicada::web {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::string_view kText = "text/plain; charset=utf-8";
constexpr const char* kEvents = "events";
constexpr std::string_view kComment = ": \n\n";

// httplib answers a request from a stream that we bring: its sockets, loop and threads are left out.
class Engine : public httplib::Server {
 public:
  using httplib::Server::process_request;
  // Contents that are made piece by piece end when there is no socket.
  void set_running(bool running) { svr_sock_ = running ? 0 : INVALID_SOCKET; }
};

// httplib::Server's constructor changes what SIGPIPE does, for the whole process.
class SigpipeKept {
 public:
  SigpipeKept() { ::sigaction(SIGPIPE, nullptr, &before_); }
  ~SigpipeKept() { ::sigaction(SIGPIPE, &before_, nullptr); }
  SigpipeKept(const SigpipeKept&) = delete;
  SigpipeKept& operator=(const SigpipeKept&) = delete;

 private:
  struct sigaction before_ {};
};

// One request and its answer, on one thread.
struct Exchange {
  Connection& connection;
  bool closes = false;  // the connection, after the answer
};
thread_local Exchange* current = nullptr;

// Of the request only the head is read by httplib.
class HeadStream : public httplib::Stream {
 public:
  HeadStream(Connection& connection, std::string head) : connection_(connection), head_(std::move(head)) {}
  bool is_readable() const override { return read_ < head_.size(); }
  bool is_writable() const override { return !broken_; }
  ssize_t read(char* to, size_t size) override {
    const size_t got = head_.copy(to, size, read_);
    read_ += got;
    return static_cast<ssize_t>(got);
  }
  ssize_t write(const char* bytes, size_t size) override {
    broken_ = broken_ || !connection_.send({bytes, size});
    return broken_ ? -1 : static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override { ip.clear(), port = 0; }
  void get_local_ip_and_port(std::string& ip, int& port) const override { ip.clear(), port = 0; }
  int socket() const override { return 0; }  // httplib asks whether select() could take it
  bool is_broken() const { return broken_; }

 private:
  Connection& connection_;
  const std::string head_;
  size_t read_ = 0;
  bool broken_ = false;
};

std::optional<std::string> header(const httplib::Request& request, const char* name) {
  return request.has_header(name) ? std::optional(request.get_header_value(name)) : std::nullopt;
}

RequestFacts facts_of(const httplib::Request& request) {
  RequestFacts facts{.method = request.method, .path = request.path, .host = header(request, "Host"), .origin = header(request, "Origin"),
                     .fetch_site = header(request, "Sec-Fetch-Site"), .fetch_mode = header(request, "Sec-Fetch-Mode")};
  for (const char* name : {"Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest", "Sec-Fetch-User"}) facts.has_fetch_headers |= request.has_header(name);
  for (const char* name : {"Host", "Origin", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Content-Length", "Transfer-Encoding"})
    facts.has_doubles |= request.get_header_value_count(name) > 1;
  return facts;
}

// Bytes of the body; nullopt: nobody knows how many.
std::optional<size_t> body_of(const httplib::Request& request) {
  if (request.has_header("Transfer-Encoding")) return std::nullopt;
  const std::string text = header(request, "Content-Length").value_or("0");
  if (text.empty() || text.size() > 9 || !std::all_of(text.begin(), text.end(), [](char letter) { return letter >= '0' && letter <= '9'; })) return std::nullopt;
  return std::stoul(text);
}

int status_of(const Error& error) {
  switch (error.kind()) {
    case ErrorKind::kNotFound: return 404;
    case ErrorKind::kInvalid: return 400;
    case ErrorKind::kPermission: return 403;
    case ErrorKind::kGone: return 410;
    case ErrorKind::kLimit: return 503;
    default: return 500;
  }
}

void say(httplib::Response& response, int status, std::string_view sentence) {
  response.status = status;
  response.body = fmt::format("{}\n", sentence);
  response.headers.erase("Content-Type");
  response.set_header("Content-Type", std::string(kText));
}

bool is_harmless(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
         std::string_view("._-+").find(letter) != std::string_view::npos;
}

void fill(httplib::Response& response, Answer answer) {
  response.status = answer.status;
  response.body = std::move(answer.body);
  response.set_header("Content-Type", answer.type.empty() ? std::string(kText) : answer.type);
  if (answer.file_name.empty()) return;
  std::string name = answer.file_name;
  std::replace_if(name.begin(), name.end(), [](char letter) { return !is_harmless(letter); }, '_');
  response.set_header("Content-Disposition", fmt::format("attachment; filename=\"{}\"", name));
}

const std::vector<std::pair<const char*, const char*>>& common_headers() {
  static const std::vector<std::pair<const char*, const char*>> headers{{"X-Content-Type-Options", "nosniff"}, {"Referrer-Policy", "no-referrer"},
      {"Cache-Control", "no-store"}, {"Cross-Origin-Resource-Policy", "same-origin"}, {"X-Frame-Options", "DENY"}};
  return headers;
}

// An answer without httplib, after which the connection is closed.
std::string plain_answer(std::string_view status, std::string_view sentence, const std::string& policy) {
  std::string out = fmt::format("HTTP/1.1 {}\r\nConnection: close\r\nContent-Type: {}\r\nContent-Length: {}\r\n"
                                "Content-Security-Policy: {}\r\n", status, kText, sentence.size() + 1, policy);
  for (const auto& [name, value] : common_headers()) out += fmt::format("{}: {}\r\n", name, value);
  return out + fmt::format("\r\n{}\n", sentence);
}

// Counts one stream as long as it lives.
class StreamCount {
 public:
  explicit StreamCount(std::atomic<size_t>& streams) : streams_(streams), number_(++streams) {}
  ~StreamCount() { --streams_; }
  StreamCount(const StreamCount&) = delete;
  StreamCount& operator=(const StreamCount&) = delete;
  size_t number() const { return number_; }

 private:
  std::atomic<size_t>& streams_;
  const size_t number_;
};

struct EventStream {
  StreamCount count;
  Query query = {};
  std::string last = {};
  std::optional<Event> first = {};  // found while it was looked whether there is such a stream
  Clock::time_point sent = Clock::now();
};

}  // namespace

struct HttpServer::State {
  HttpOptions options;
  AccessRules rules;
  Content& content;
  Engine engine = {};
  std::atomic<size_t> streams = 0;
  std::unique_ptr<Connections> connections = {};  // last: its threads use the rest

  void prepare_engine();
  bool serve(Connection& connection);
  void answer(const httplib::Request& request, httplib::Response& response);
  bool take_body(const httplib::Request& request, httplib::Response& response);
  void open_stream(const httplib::Request& request, httplib::Response& response, Query query);
  bool send_next(EventStream& stream, Connection& connection, httplib::DataSink& sink);
  void finish_headers(httplib::Response& response) const;
};

void HttpServer::State::finish_headers(httplib::Response& response) const {
  for (const char* name : {"Keep-Alive", "Accept-Ranges", "EXCEPTION_WHAT"}) response.headers.erase(name);
  for (const auto& [name, value] : common_headers()) response.set_header(name, value);
  response.set_header("Content-Security-Policy", options.policy);
  if (current->closes && !response.has_header("Connection")) response.set_header("Connection", "close");
}

// False: answered, it is too much.
bool HttpServer::State::take_body(const httplib::Request& request, httplib::Response& response) {
  const auto size = body_of(request);
  if (size && *size <= kMaxBody && current->connection.skip_body(*size)) return true;
  current->closes = true;
  if (!size) say(response, 411, "a body needs a Content-Length");
  else if (*size > kMaxBody) say(response, 413, fmt::format("a body has at most {} bytes here", kMaxBody));
  else say(response, 408, "the body did not come");
  return false;
}

// False: the stream ends.
bool HttpServer::State::send_next(EventStream& stream, Connection& connection, httplib::DataSink& sink) {
  if (connection.is_gone()) return false;
  Result<std::optional<Event>> next = std::exchange(stream.first, std::nullopt);
  if (!*next) next = content.next(stream.query, stream.last, kEventWait);
  if (!next) return sink.done(), true;
  const auto now = Clock::now();
  if (!*next && now < stream.sent + options.silence) return true;
  stream.sent = now;
  if (!*next) return sink.write(kComment.data(), kComment.size());
  const std::string text = fmt::format("id: {}\ndata: {}\n\n", (*next)->id, (*next)->data);
  stream.last = std::move((*next)->id);
  return sink.write(text.data(), text.size());
}

void HttpServer::State::open_stream(const httplib::Request& request, httplib::Response& response, Query query) {
  const std::shared_ptr<EventStream> stream(new EventStream{.count = StreamCount(streams), .query = std::move(query)});
  if (stream->count.number() > kMaxStreams) {
    response.set_header("Retry-After", "5");
    return say(response, 503, fmt::format("{} pages follow already; close one", kMaxStreams));
  }
  stream->last = request.get_header_value("Last-Event-ID");
  if (std::any_of(stream->last.begin(), stream->last.end(), [](char letter) { return static_cast<unsigned char>(letter) < ' '; })) stream->last.clear();
  Result<std::optional<Event>> first = content.next(stream->query, stream->last, std::chrono::milliseconds(0));
  if (!first) return say(response, status_of(first.error()), first.error().message());
  stream->first = *std::move(first);
  response.status = 200;
  current->closes = true;
  response.set_chunked_content_provider("text/event-stream", [this, stream, &connection = current->connection](size_t, httplib::DataSink& sink) {
    return send_next(*stream, connection, sink);
  });
}

void HttpServer::State::answer(const httplib::Request& request, httplib::Response& response) {
  const Verdict verdict = judge(facts_of(request), rules);
  if (verdict.status != 200) {
    current->closes = current->closes || body_of(request) != size_t{0};
    if (verdict.status == 308) {
      const size_t query = request.target.find('?');
      response.set_header("Location", verdict.text + (query == std::string::npos ? "" : request.target.substr(query)));
    }
    if (verdict.status == 405) response.set_header("Allow", rules.controls ? "GET, HEAD, POST" : "GET, HEAD");
    return say(response, verdict.status, verdict.status == 308 ? "the page has a slash at its end" : verdict.text);
  }
  if (!take_body(request, response)) return;
  Query query;
  for (const auto& [name, value] : request.params) query.emplace(name, value);
  if (request.method == "POST") return fill(response, content.post(verdict.rest, query));
  if (verdict.rest == kEvents) return open_stream(request, response, std::move(query));
  fill(response, content.get(verdict.rest, query, [&connection = current->connection] { return connection.is_gone(); }));
}

void HttpServer::State::prepare_engine() {
  engine.set_running(true);
  engine.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
    answer(request, response);
    return httplib::Server::HandlerResponse::Handled;
  });
  engine.set_post_routing_handler([this](const httplib::Request&, httplib::Response& response) { finish_headers(response); });
  engine.set_exception_handler([](const httplib::Request&, httplib::Response& response, const std::exception_ptr&) {
    current->closes = true;
    say(response, 500, "cicada could not make this answer; it may be short of memory");
  });
  // What httplib refuses by itself.
  engine.set_error_handler([](const httplib::Request&, httplib::Response& response) {
    if (response.body.empty() && !response.content_provider_) say(response, response.status, "cicada does not understand this request");
  });
}

bool HttpServer::State::serve(Connection& connection) {
  if (const int status = check_head(connection.head()); status != 0) {
    connection.send(plain_answer(status == 400 ? "400 Bad Request" : status == 414 ? "414 URI Too Long" : "431 Request Header Fields Too Large",
                                 "cicada does not understand this request", options.policy));
    return false;
  }
  // Parts of an answer are not sent: httplib looks for them with a regular expression, and makes as many copies as it is asked for.
  HeadStream stream(connection, without_header(connection.head(), "range"));
  Exchange exchange{.connection = connection, .closes = true};
  current = &exchange;
  bool closed = false;
  const bool answered = engine.process_request(stream, connection.is_last_request(), closed, [&](httplib::Request& request) {
    exchange.closes = false;  // it was understood
    request.headers.erase("Accept-Encoding");  // no compressing
  });
  current = nullptr;
  return answered && !closed && !exchange.closes && !stream.is_broken() && !connection.is_last_request();
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(Listener listener, HttpOptions options, Content& content) {
  const SigpipeKept kept;
  AccessRules rules{.token = options.token, .controls = options.controls, .needs_host = !listener.where.starts_with("unix:"), .hosts = options.hosts};
  const ConnectionLimits limits{.connections = kMaxConnections, .threads = kMaxThreads, .requests = kMaxRequests, .head = kMaxHead,
                                .read_timeout = options.read_timeout, .write_timeout = options.write_timeout};
  std::unique_ptr<State> state(new State{.options = std::move(options), .rules = std::move(rules), .content = content});
  state->prepare_engine();
  const std::string& policy = state->options.policy;
  Connections::Refusals refusals{plain_answer("503 Service Unavailable\r\nRetry-After: 1", "too many connections at once", policy),
                                 plain_answer("431 Request Header Fields Too Large", "the head of this request is too large", policy)};
  state->connections = TRY(Connections::start(std::move(listener.fd), limits, std::move(refusals),
                                              [state = state.get()](Connection& connection) { return state->serve(connection); }));
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(state)));
}

HttpServer::HttpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

HttpServer::~HttpServer() { state_->engine.set_running(false); }

}  // namespace cicada::web
