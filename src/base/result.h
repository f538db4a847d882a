// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value, or an Error that says what failed, on which object, and what to do.
//
//   Result<ElfFile> file = ElfFile::open(path);
//   if (!file) return file.error();
//   ElfFile elf = TRY(ElfFile::open(path));      // the same in one line
//
// Own type because GCC 12 has std::expected only as C++23, and neither compiler warns when one is dropped.
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace cicada {

enum class ErrorKind : uint8_t {
  kNotFound,     // no such file, process, symbol
  kPermission,   // the kernel or the file system refused
  kInvalid,      // the caller's (user's) input makes no sense
  kCorrupt,      // foreign bytes that contradict their own format
  kUnsupported,  // well-formed, but not handled here (kernel too old, unknown version)
  kLimit,        // a bound was reached: table full, file too large
  kGone,         // existed a moment ago: the process exited, the file was replaced
  kIo,           // any other failure of the operating system
};

class [[nodiscard]] Error {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}
  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }
  // The same error seen from further out: "reading /usr/bin/x: " + message.
  Error within(std::string_view context) const { return {kind_, fmt::format("{}: {}", context, message_)}; }

 private:
  ErrorKind kind_;
  std::string message_;
};

template <typename... Args>
Error make_error(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  return {kind, fmt::format(format, std::forward<Args>(args)...)};
}

// The one place where errno becomes an Error. `what` names the attempt and the object: "open /proc/7/maps".
Error errno_error(int errno_value, std::string_view what);

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : state_(std::move(error)) {}  // NOLINT
  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(value()); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& value() {
    CHECK(state_.index() == 0);
    return *std::get_if<0>(&state_);
  }
  const T& value() const {
    CHECK(state_.index() == 0);
    return *std::get_if<0>(&state_);
  }
  const Error& error() const {
    CHECK(state_.index() == 1);
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit on purpose
  explicit operator bool() const { return !error_; }
  void operator*() const {}
  const Error& error() const {
    CHECK(error_.has_value());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace cicada

// The value of a Result expression, or return of its error from the enclosing function.
#define TRY(expression)                                     \
  __extension__({                                           \
    auto try_result_ = (expression);                        \
    if (!try_result_) [[unlikely]] return try_result_.error(); \
    *std::move(try_result_);                                \
  })
