// SPDX-License-Identifier: Apache-2.0
// Which requests are answered. Pages of other sites run in the same browser as ours: each can send requests to this machine, and with a name of its
// own that it lets point here (DNS rebinding) it could read the answers, too.
//   Host: an address, localhost, or a name we are told to believe; rebinding needs a name.
//   Origin, Sec-Fetch-Site: our own page. From elsewhere only the page itself is opened, by a link.
//   The token in the path: other users of this machine do not know it.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cicada::web {

// Headers are nullopt where the request has none of that name.
struct RequestFacts {
  std::string method, path;  // path: decoded, without the query
  std::optional<std::string> host, origin, fetch_site, fetch_mode;
  bool has_fetch_headers = false;  // any that starts with Sec-Fetch-
  bool has_doubles = false;        // of those headers, or of the ones that say how long the body is
};

struct AccessRules {
  std::string token;
  bool controls = true, needs_host = true;
  std::vector<std::string> hosts;
};

struct Verdict {
  int status = 200;
  std::string text;  // why not; 308: where to
  std::string rest;  // of the path, behind the token; "": the page
};

Verdict judge(const RequestFacts& request, const AccessRules& rules);

// The bytes of a head before it is parsed: lines of text with a name, a colon and a value. 0: it is; else the status of the answer.
int check_head(std::string_view head);
// Without the lines of that name. `name` in lower case.
std::string without_header(std::string_view head, std::string_view name);

// Takes as long for a wrong one as for the right one.
bool is_same_token(std::string_view given, std::string_view token);

}  // namespace cicada::web
