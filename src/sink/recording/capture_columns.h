// SPDX-License-Identifier: Apache-2.0
// The columns of a section of samples. Columns, not rows: zstd finds little in interleaved numbers and almost everything in a column of
// equal ones. Times are predicted per CPU, because a sampling timer ticks per CPU: what is left is jitter of some microseconds (two
// bytes), not the distance between samples of different CPUs (four bytes).
#pragma once
#include "base/byte_cursor.h"
#include "base/result.h"
#include "profile/profile.h"
#include "sink/recording/byte_writer.h"
#include "sink/recording/capture_ids.h"

namespace cicada::sink {

// Rows [begin, end).
void append_columns(ByteWriter& out, const profile::ProfileSnapshot& profile, size_t begin, size_t end);
// `count` rows, appended with our ids.
Result<void> parse_columns(ByteCursor& in, size_t count, const CaptureIds& ids, profile::Profile& profile);

}  // namespace cicada::sink
