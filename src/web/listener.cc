// SPDX-License-Identifier: Apache-2.0
#include "web/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

namespace cicada::web {
namespace {

constexpr int kBacklog = 128;
constexpr std::string_view kUnix = "unix:";

struct Address {
  sockaddr_in6 bytes{};  // or a sockaddr_in, which is shorter
  socklen_t size = 0;

  sockaddr* any() { return reinterpret_cast<sockaddr*>(&bytes); }
  const sockaddr* any() const { return reinterpret_cast<const sockaddr*>(&bytes); }
  sockaddr_in& v4() { return reinterpret_cast<sockaddr_in&>(bytes); }
  const sockaddr_in& v4() const { return reinterpret_cast<const sockaddr_in&>(bytes); }
  bool is_v6() const { return bytes.sin6_family == AF_INET6; }
  unsigned port() const { return ntohs(bytes.sin6_port); }  // at the same place in both
  void set_port(unsigned port) { bytes.sin6_port = htons(static_cast<uint16_t>(port)); }
  std::string text() const;
  bool is_loopback() const;
};

std::string Address::text() const {
  char host[INET6_ADDRSTRLEN] = "";
  if (is_v6()) ::inet_ntop(AF_INET6, &bytes.sin6_addr, host, sizeof host);
  else ::inet_ntop(AF_INET, &v4().sin_addr, host, sizeof host);
  return is_v6() ? fmt::format("[{}]:{}", host, port()) : fmt::format("{}:{}", host, port());
}

bool Address::is_loopback() const {
  if (!is_v6()) return (ntohl(v4().sin_addr.s_addr) >> 24) == 127;
  return IN6_IS_ADDR_LOOPBACK(&bytes.sin6_addr) || (IN6_IS_ADDR_V4MAPPED(&bytes.sin6_addr) && bytes.sin6_addr.s6_addr[12] == 127);
}

std::optional<unsigned> port_in(std::string_view text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port <= 0xffff ? std::optional(port) : std::nullopt;
}

Result<Address> parse_address(const std::string& where) {
  const size_t colon = where.rfind(':');
  std::string host = colon == std::string::npos ? "127.0.0.1" : where.substr(0, colon);
  const std::string_view port_text = std::string_view(where).substr(colon == std::string::npos ? 0 : colon + 1);
  const bool brackets = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (brackets) host = host.substr(1, host.size() - 2);
  else if (host.find(':') != std::string::npos || where.ends_with(']'))
    return make_error(ErrorKind::kInvalid, "--listen {}: an IPv6 address is written in brackets with a port behind it: [::1]:8080", where);
  if (host == "localhost" && !brackets) host = "127.0.0.1";
  Address address;
  if (brackets && ::inet_pton(AF_INET6, host.c_str(), &address.bytes.sin6_addr) == 1) {
    address.bytes.sin6_family = AF_INET6;
    address.size = sizeof(sockaddr_in6);
  } else if (!brackets && ::inet_pton(AF_INET, host.c_str(), &address.v4().sin_addr) == 1) {
    address.bytes.sin6_family = AF_INET;
    address.size = sizeof(sockaddr_in);
  } else if (colon == std::string::npos || host.empty() || brackets) {
    return make_error(ErrorKind::kInvalid, "--listen {}: expected PORT, ADDRESS:PORT, [IPv6]:PORT or unix:/path", where);
  } else {
    return make_error(ErrorKind::kInvalid, "--listen {}: {} is a name; an address of this machine is needed here, such as 127.0.0.1:8080 or 0.0.0.0:8080", where, host);
  }
  const auto port = port_in(port_text);
  if (!port && colon == std::string::npos) return make_error(ErrorKind::kInvalid, "--listen {}: expected PORT, ADDRESS:PORT, [IPv6]:PORT or unix:/path", where);
  if (!port) return make_error(ErrorKind::kInvalid, "--listen {}: \"{}\" is no port; ports are 0 (any) to 65535", where, port_text);
  address.set_port(*port);
  return address;
}

// No descriptor: errno says why.
UniqueFd try_listen(const Address& address) {
  UniqueFd fd(::socket(address.bytes.sin6_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (fd && ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 && ::bind(fd.get(), address.any(), address.size) == 0 &&
      ::listen(fd.get(), kBacklog) == 0)
    return fd;
  const int why = errno;
  fd.reset();
  errno = why;
  return fd;
}

Result<Listener> listening(UniqueFd fd, Address address) {
  address.size = sizeof address.bytes;
  if (::getsockname(fd.get(), address.any(), &address.size) != 0) return errno_error(errno, "the address of our own socket");
  return Listener{std::move(fd), address.text(), address.is_loopback()};
}

// Of what is free the first, at most kMostPortsTried from the address' port on.
std::optional<Listener> listen_from(Address address) {
  const unsigned first = address.port();
  for (unsigned port = first; port < first + kMostPortsTried && port <= 0xffff; ++port) {
    address.set_port(port);
    UniqueFd fd = try_listen(address);
    if (!fd && errno != EADDRINUSE) return std::nullopt;
    if (!fd) continue;
    Result<Listener> listener = listening(std::move(fd), address);
    return listener ? std::optional(*std::move(listener)) : std::nullopt;
  }
  return std::nullopt;
}

Error taken(Address address) {
  const std::string wanted = address.text();
  std::optional<Listener> free;
  if (address.port() < 0xffff) {
    address.set_port(address.port() + 1);
    free = listen_from(address);
  }
  if (!free) return make_error(ErrorKind::kLimit, "{} is taken; with port 0 a free one is found", wanted);
  return make_error(ErrorKind::kLimit, "{} is taken; {} is free: --listen {}", wanted, free->where.substr(free->where.rfind(':') + 1), free->where);
}

Result<Listener> listen_at_address(const Address& address) {
  UniqueFd fd = try_listen(address);
  if (fd) return listening(std::move(fd), address);
  const int why = errno;
  if (why == EADDRINUSE) return taken(address);
  if (why == EADDRNOTAVAIL) return make_error(ErrorKind::kNotFound, "{}: this machine does not have that address", address.text());
  if (why == EACCES) return make_error(ErrorKind::kPermission, "{}: ports below 1024 are for root; take a higher one", address.text());
  return errno_error(why, fmt::format("listening at {}", address.text()));
}

// Makes room for the socket. Nothing but a socket at which nobody listens is removed.
Result<void> remove_stale(const std::string& path, const sockaddr_un& address) {
  struct stat st {};
  if (::lstat(path.c_str(), &st) != 0) return errno == ENOENT ? Result<void>() : errno_error(errno, path);
  if (!S_ISSOCK(st.st_mode)) return make_error(ErrorKind::kInvalid, "{}: it is there already and is no socket; name another path or remove it", path);
  const UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe) return errno_error(errno, path);
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 || errno == EAGAIN)
    return make_error(ErrorKind::kLimit, "{} is taken: a running process listens there; name another path", path);
  if (errno != ECONNREFUSED) return errno_error(errno, path);
  return ::unlink(path.c_str()) == 0 || errno == ENOENT ? Result<void>() : errno_error(errno, path);
}

Result<Listener> listen_at_path(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty()) return make_error(ErrorKind::kInvalid, "--listen unix: needs a path: unix:/run/user/1000/cicada.sock");
  if (path.size() >= sizeof address.sun_path)
    return make_error(ErrorKind::kInvalid, "{}: a socket's path has {} characters at most", path, sizeof address.sun_path - 1);
  std::memcpy(address.sun_path, path.data(), path.size());
  TRY(remove_stale(path, address));
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // The file gets the socket's mode: at no time may others connect.
  if (!fd || ::fchmod(fd.get(), 0600) != 0 || ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(fd.get(), kBacklog) != 0)
    return errno_error(errno, fmt::format("listening at {}", path));
  return Listener{std::move(fd), fmt::format("{}{}", kUnix, path), true};
}

}  // namespace

Result<Listener> listen_at(const std::string& where) {
  if (where.starts_with(kUnix)) return listen_at_path(where.substr(kUnix.size()));
  if (!where.empty()) return listen_at_address(TRY(parse_address(where)));
  const Address first = TRY(parse_address(fmt::format("{}", kFirstPort)));
  std::optional<Listener> found = listen_from(first);
  if (found) return *std::move(found);
  return make_error(ErrorKind::kLimit, "ports {} to {} of 127.0.0.1 are taken; --listen 0 takes any that is free", kFirstPort, kFirstPort + kMostPortsTried - 1);
}

}  // namespace cicada::web
