// SPDX-License-Identifier: Apache-2.0
#include "process/metadata/arguments.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace cicada::process {
namespace {

constexpr size_t kMaxBytes = 512;
constexpr std::string_view kMask = "***";

std::string_view last_component(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// "--db-password" and "API_KEY" name a secret; "--key-file", "--keyboard" and "--monkey" do not. Words end at what is no letter, and before a
// capital one: "keyStorePassword".
bool names_secret(std::string_view name) {
  constexpr std::array<std::string_view, 18> kSecrets{"password", "passwd", "passphrase", "pass", "pwd", "secret", "secrets", "token", "tokens",
                                                      "key", "apikey", "accesskey", "secretkey", "credential", "credentials", "auth", "authorization", "cookie"};
  constexpr std::array<std::string_view, 4> kPlaces{"file", "path", "dir", "id"};
  const auto is_among = [](std::string_view word, const auto& words) { return std::find(words.begin(), words.end(), word) != words.end(); };
  if (name.starts_with("-D")) name.remove_prefix(2);  // Java's
  std::string word;
  bool found = false;
  for (size_t i = 0; i <= name.size(); ++i) {
    const char c = i < name.size() ? name[i] : '\0';
    const bool upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z';
    if (lower || (upper && (word.empty() || (name[i - 1] >= 'A' && name[i - 1] <= 'Z')))) {
      word += static_cast<char>(upper ? c - 'A' + 'a' : c);
      continue;
    }
    if (is_among(word, kPlaces)) return false;
    found |= is_among(word, kSecrets);
    word.assign(upper ? 1 : 0, static_cast<char>(c - 'A' + 'a'));
  }
  return found;
}

// "https://user:secret@host/" -> "https://user:***@host/"
std::string without_url_password(std::string text) {
  const size_t begin = text.find("://");
  if (begin == std::string::npos) return text;
  const size_t end = std::min(text.find_first_of("/?#", begin + 3), text.size());
  const size_t colon = text.find(':', begin + 3), at = text.rfind('@', end);
  if (colon == std::string::npos || at == std::string::npos || at < colon || at > end) return text;
  return text.replace(colon + 1, at - colon - 1, kMask);
}

// `follows`: the argument behind an option that names a secret, or a user with a password ("-u me:secret").
enum class Follows : uint8_t { kNothing, kSecret, kUser };

std::string masked(std::string argument, std::string_view program, Follows& follows) {
  const Follows is = std::exchange(follows, Follows::kNothing);
  if (is == Follows::kSecret) return std::string(kMask);
  if (is == Follows::kUser) return argument.substr(0, std::min(argument.find(':'), argument.size())) + (argument.find(':') == std::string::npos ? "" : ":***");
  if (argument.starts_with("-p") && argument.size() > 2 && (program.starts_with("mysql") || program.starts_with("mariadb"))) return "-p***";
  const size_t name_end = std::min(argument.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."), argument.size());
  const std::string_view name = std::string_view(argument).substr(0, name_end);
  if (name_end == argument.size()) {
    if (argument.starts_with('-') && names_secret(name)) follows = Follows::kSecret;
    if (argument == "-u" || argument == "--user") follows = Follows::kUser;
    return argument;
  }
  if ((argument[name_end] == '=' || argument[name_end] == ':') && names_secret(name)) return argument.substr(0, name_end + 1) + std::string(kMask);
  return without_url_password(std::move(argument));
}

}  // namespace

std::vector<std::string> kept_arguments(std::span<const std::string> argv, Arguments which) {
  if (argv.empty()) return {};
  std::vector<std::string> kept{argv[0].substr(0, argv[0].find(' '))};
  const std::string program(last_component(kept[0]));
  Follows follows = Follows::kNothing;
  if (which == Arguments::kAll)
    for (const std::string& argument : argv.subspan(1)) kept.push_back(masked(argument, program, follows));
  return kept;
}

std::string shown_arguments(std::span<const std::string> argv, Arguments which) {
  std::string text;
  for (const std::string& argument : kept_arguments(argv, which)) {
    if (!text.empty()) text += ' ';
    text += argument;
    if (text.size() <= kMaxBytes) continue;
    text.resize(kMaxBytes);
    return text + "…";
  }
  return text;
}

}  // namespace cicada::process
