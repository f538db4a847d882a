// SPDX-License-Identifier: Apache-2.0
// Writes JSON as it is made, so that a profile is never in memory a second time. Strings go through nlohmann-json (escapes,
// invalid UTF-8 replaced); structure, commas and numbers are here.
//
//   json.begin_object(); json.key("name"); json.value("main"); json.end_object();
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace cicada::sink {

// A JSON string literal, quotes included. Safe inside <script>: "<" is escaped.
std::string to_json_string(std::string_view text);

class JsonStream {
 public:
  using Write = std::function<void(std::string_view)>;
  explicit JsonStream(Write write) : write_(std::move(write)) {}
  ~JsonStream() { flush(); }
  JsonStream(const JsonStream&) = delete;
  JsonStream& operator=(const JsonStream&) = delete;

  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }
  void key(std::string_view name) {
    comma();
    buffer_ += to_json_string(name);
    buffer_ += ':';
    after_key_ = true;
  }
  void value(std::string_view text) { raw(to_json_string(text)); }
  void value(const char* text) { value(std::string_view(text)); }
  void value(const std::string& text) { value(std::string_view(text)); }
  void value(bool truth) { raw(truth ? "true" : "false"); }
  void value(uint64_t number);
  void value(int64_t number);
  void value(uint32_t number) { value(uint64_t{number}); }
  void value(int32_t number) { value(int64_t{number}); }
  void value(double number);
  void null() { raw("null"); }
  template <typename T>
  void member(std::string_view name, const T& content) {
    key(name);
    value(content);
  }
  // Text that is JSON already.
  void raw(std::string_view json) {
    comma();
    buffer_ += json;
    if (buffer_.size() >= kFlushBytes) flush();
  }
  void flush() {
    if (!buffer_.empty()) write_(buffer_);
    buffer_.clear();
  }

 private:
  static constexpr size_t kFlushBytes = 64 << 10;
  void comma() {
    if (needs_comma_ && !after_key_) buffer_ += ',';
    needs_comma_ = true;
    after_key_ = false;
  }
  void open(char bracket) {
    comma();
    buffer_ += bracket;
    needs_comma_ = false;
  }
  void close(char bracket) {
    buffer_ += bracket;
    needs_comma_ = true;
    if (buffer_.size() >= kFlushBytes) flush();
  }

  Write write_;
  std::string buffer_;
  bool needs_comma_ = false, after_key_ = false;
};

}  // namespace cicada::sink
