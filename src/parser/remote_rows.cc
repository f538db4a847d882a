// SPDX-License-Identifier: Apache-2.0
#include "parser/remote_rows.h"

#include "sandbox/channel.h"

namespace cicada::parser {
namespace {

constexpr size_t kMaxRowBytes = size_t{272} << 20;  // RowLimits::max_rows, and their rules

}  // namespace

Result<unwind::UnwindRows> compile_rows(Parsers& parsers, uint32_t owner, uint64_t image, int file, const std::string& path,
                                        const std::stop_token& stop) {
  Question question;
  question.kind = kRows;
  question.owner = owner;
  question.image = image;
  question.path = path;
  question.file = file;
  const Parsers::Answer answer = TRY(parsers.ask_for_file(question, kMaxRowBytes, stop));
  if (answer.size % sizeof(unwind::Row) != 0) return make_error(ErrorKind::kCorrupt, "unwind rows: {} bytes", answer.size);
  std::vector<unwind::Row> rows(answer.size / sizeof(unwind::Row));
  TRY(sandbox::read_file(answer.file.get(), rows.data(), answer.size));
  return unwind::UnwindRows::adopt(std::move(rows));
}

}  // namespace cicada::parser
