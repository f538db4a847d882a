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

void resize_columns(profile::SampleColumns& columns, size_t count);
// The median distance of two samples of one CPU in rows [begin, end).
uint64_t median_tick(const profile::SampleColumns& columns, size_t begin, size_t end);
void append_columns(ByteWriter& out, const profile::SampleColumns& columns, size_t begin, size_t end);
// `count` rows into `block`, with our ids.
Result<void> parse_columns(ByteCursor& in, size_t count, const CaptureIds& ids, profile::SampleColumns& block);

}  // namespace cicada::sink
