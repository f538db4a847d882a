// SPDX-License-Identifier: Apache-2.0
// What a terminal shows that cannot show all: the nearest of its colours, and ASCII for letters.
#pragma once
#include <cstdint>

namespace cicada::top {

// Of the 240 whose colours are the same everywhere: the 6×6×6 cube and the greys, 16-255. The first sixteen are their user's.
int nearest_of_256(uint32_t colour);
// 0-7: the nearest hue, as pale as it may be. Grey is white or black.
int nearest_of_8(uint32_t colour);
// Black or white (0 or 7): what can be read on this one of the eight.
int readable_on(int ground);

// ASCII that looks alike; the letter itself if none does.
char32_t stand_in(char32_t letter);

}  // namespace cicada::top
