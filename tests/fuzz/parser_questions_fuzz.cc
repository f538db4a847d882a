// SPDX-License-Identifier: Apache-2.0
// module: parser
// What the collector says to a parser: it hands on bytes that strangers have made (copies of their stacks, files), and a collector that
// errs must not bring a parser down.
//
// Input: the size of the image (16 bits), the image; then questions: kind, a number, the size of the job file (16 bits), the job file.
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/byte_cursor.h"
#include "base/diagnostics.h"
#include "parser/parser.h"
#include "parser/protocol.h"

namespace {

using namespace cicada;
using sandbox::Channel;
using sandbox::Message;

constexpr unsigned kMaxQuestions = 6;
constexpr uint64_t kMaxAddresses = 64, kMaxFunctions = 16;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ByteCursor cursor(Bytes(data, size));
  const Bytes image = cursor.take(cursor.u16());
  if (cursor.failed()) return 0;
  auto file = sandbox::memory_file(image.data(), image.size());
  auto ends = Channel::make_pair();
  if (!file || !ends) return 0;
  Channel collector(std::move(ends->first));
  Message configure;
  configure.kind = parser::kConfigure;
  configure.text = parser::to_text({});
  static_cast<void>(collector.send_now(configure));
  for (unsigned i = 0; i < kMaxQuestions && !cursor.at_end(); ++i) {
    Message question;
    question.kind = cursor.u8() % 16;
    const uint64_t number = cursor.u8();
    const Bytes job = cursor.take(cursor.u16());
    if (cursor.failed()) break;
    if (question.kind == parser::kName)
      question.numbers = {number, number & 1, std::min<uint64_t>(job.size() / 8, kMaxAddresses), 0, 0};
    else if (question.kind == parser::kFunctions || question.kind == parser::kUsdt)
      question.numbers = {number, number % 8, kMaxFunctions, 0, 0};
    else if (question.kind == parser::kParameters)
      question.numbers = {number, std::min<uint64_t>(job.size() / 8, kMaxAddresses), 0, number & 1, 0};
    else if (question.kind == parser::kCode)
      question.numbers = {0, number << 8, number & 3, 0, 0};
    else
      question.numbers = {number, 0, 0, 0, 0};
    question.text = "/fuzz/image";
    auto contents = sandbox::memory_file(job.data(), job.size());
    if (!contents) return 0;
    static_cast<void>(collector.send_now(question, {contents->get(), file->get()}));
  }
  // The parser ends when it has read them all; what it says is read by nobody, and is short.
  ::shutdown(collector.fd(), SHUT_WR);
  parser::serve(Channel(std::move(ends->second)));
  return 0;
}
