// SPDX-License-Identifier: Apache-2.0
#include "web/request_rules.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

namespace cicada::web {
namespace {

constexpr size_t kMostLines = 100, kLongestRequestLine = 4096, kLongestLine = 8000;  // httplib's bounds are a little higher
constexpr std::string_view kLineEnd = "\r\n";

char lower(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter; }
bool is_same_name(std::string_view one, std::string_view other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(), [](char a, char b) { return lower(a) == lower(b); });
}

bool is_port(std::string_view text) {
  return !text.empty() && text.size() <= 5 && std::all_of(text.begin(), text.end(), [](char letter) { return letter >= '0' && letter <= '9'; });
}

// "name", "name:port", "[v6]:port"
bool is_believed(const std::string& host, const AccessRules& rules) {
  const size_t colon = host.rfind(':');
  const bool has_port = colon != std::string::npos && !host.ends_with(']');
  if (has_port && !is_port(std::string_view(host).substr(colon + 1))) return false;
  const std::string name = host.substr(0, has_port ? colon : std::string::npos);
  in6_addr ignored;
  if (name.size() > 2 && name.front() == '[' && name.back() == ']') return ::inet_pton(AF_INET6, name.substr(1, name.size() - 2).c_str(), &ignored) == 1;
  if (::inet_pton(AF_INET, name.c_str(), &ignored) == 1 || is_same_name(name, "localhost")) return true;
  return std::any_of(rules.hosts.begin(), rules.hosts.end(), [&](const std::string& known) { return is_same_name(name, known); });
}

bool has_controls(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char letter) { return static_cast<unsigned char>(letter) < ' ' || letter == '\x7f'; });
}

// Behind the token; nullopt: it is not that. Without a slash behind it: "".
std::optional<std::string> behind_token(std::string_view path, std::string_view token) {
  if (token.empty()) return std::string(path);
  const size_t end = std::min(path.find('/', 1), path.size());
  if (!is_same_token(path.substr(1, end - 1), token)) return std::nullopt;
  return std::string(path.substr(end));
}

}  // namespace

bool is_same_token(std::string_view given, std::string_view token) {
  unsigned differ = given.size() == token.size() ? 0 : 1;
  for (size_t i = 0; i < token.size(); ++i) differ |= static_cast<unsigned char>((i < given.size() ? given[i] : '\0') ^ token[i]);
  return differ == 0;
}

Verdict judge(const RequestFacts& request, const AccessRules& rules) {
  if (request.has_doubles || (!request.host && rules.needs_host)) return {400, "a request needs one Host header, and no header twice", ""};
  if (request.host && !is_believed(*request.host, rules))
    return {421, "this name is not known here: open the address that cicada printed, with the number or localhost in it", ""};
  if (request.path.empty() || request.path[0] != '/' || has_controls(request.path)) return {400, "this path is none", ""};
  const auto behind = behind_token(request.path, rules.token);
  if (!behind) return {404, "not here: open the whole address that cicada printed", ""};
  const bool gets = request.method == "GET" || request.method == "HEAD";
  const std::string rest = behind->empty() ? "" : behind->substr(1);
  if (request.origin && (!request.host || !is_same_name(*request.origin, "http://" + *request.host)))
    return {403, "pages of other sites get nothing here", ""};
  const bool from_here = !request.fetch_site || *request.fetch_site == "same-origin" || *request.fetch_site == "none";
  const bool follows_link = request.method == "GET" && request.fetch_mode == "navigate" && rest.empty();
  if (!from_here && !follows_link) return {403, "pages of other sites get nothing here", ""};
  if (request.method == "POST" && rules.controls) {
    const bool by_page = request.origin || (request.fetch_site && *request.fetch_site == "same-origin");
    const bool by_program = !request.origin && !request.has_fetch_headers;
    if (!by_page && !by_program) return {403, "controls are for the page itself", ""};
  } else if (!gets) {
    return {405, rules.controls ? "only GET, HEAD and POST are answered" : "only GET and HEAD are answered", ""};
  }
  if (behind->empty() && gets) return {308, fmt::format("/{}/", rules.token), ""};
  return {200, "", rest};
}

int check_head(std::string_view head) {
  size_t lines = 0;
  for (; head.size() > kLineEnd.size(); ++lines) {
    const size_t end = head.find(kLineEnd);
    const std::string_view line = head.substr(0, end);
    if (lines == 0 && line.size() > kLongestRequestLine) return 414;
    if (lines > kMostLines || line.size() > kLongestLine) return 431;
    if (std::any_of(line.begin(), line.end(), [](char letter) { return (static_cast<unsigned char>(letter) < ' ' && letter != '\t') || letter == '\x7f'; })) return 400;
    if (lines == 0 && (std::count(line.begin(), line.end(), ' ') != 2 || line.find("  ") != std::string_view::npos)) return 400;
    const size_t colon = line.find(':');
    if (lines > 0 && (colon == std::string_view::npos || colon == 0 || line.substr(0, colon).find_first_of(" \t") != std::string_view::npos)) return 400;
    head.remove_prefix(end + kLineEnd.size());
  }
  return lines == 0 ? 400 : 0;
}

std::string without_header(std::string_view head, std::string_view name) {
  std::string out;
  while (!head.empty()) {
    const size_t end = head.find(kLineEnd) + kLineEnd.size();
    const std::string_view line = head.substr(0, end);
    if (!is_same_name(line.substr(0, std::min(line.find(':'), line.size())), name)) out += line;
    head.remove_prefix(end);
  }
  return out;
}

}  // namespace cicada::web
