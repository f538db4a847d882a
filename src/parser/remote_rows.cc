// SPDX-License-Identifier: Apache-2.0
#include "parser/remote_rows.h"

#include <cstring>

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
  const std::string bytes = TRY(parsers.ask(question, kMaxRowBytes, stop));
  std::vector<unwind::Row> rows(bytes.size() / sizeof(unwind::Row));
  if (bytes.size() % sizeof(unwind::Row) != 0) return make_error(ErrorKind::kCorrupt, "unwind rows: {} bytes", bytes.size());
  if (!bytes.empty()) std::memcpy(rows.data(), bytes.data(), bytes.size());
  return unwind::UnwindRows::adopt(std::move(rows));
}

}  // namespace cicada::parser
