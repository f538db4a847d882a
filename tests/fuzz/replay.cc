// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target without libFuzzer: each file of the directories given, and so many damaged copies of each (the same ones every time). A smoke
// test in every build, and what keeps the targets compiling. `./dev fuzz` looks for new inputs.
//
//   TARGET_replay COPIES FOLDER…      directories that are not there are skipped; no file at all is an error
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Input = std::vector<uint8_t>;

// A few bytes changed, a piece gone, or the end cut off.
Input damage(Input input, std::minstd_rand& random) {
  if (input.empty()) return input;
  const auto place = [&] { return static_cast<std::ptrdiff_t>(random() % input.size()); };
  static constexpr uint8_t kEdges[] = {0, 1, 0x7f, 0x80, 0xff};
  for (unsigned i = 0; i < 1 + random() % 4; ++i) {
    input[static_cast<size_t>(place())] = random() % 2 != 0 ? kEdges[random() % std::size(kEdges)] : static_cast<uint8_t>(random());
  }
  const unsigned kind = random() % 4;
  if (kind == 0) input.resize(static_cast<size_t>(place()));
  if (kind == 1) {
    const std::ptrdiff_t from = place();
    input.erase(input.begin() + from, input.begin() + std::min<std::ptrdiff_t>(from + 8, std::ssize(input)));
  }
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  const int copies = argc > 1 ? std::atoi(argv[1]) : 0;
  size_t files = 0, runs = 0;
  for (int i = 2; i < argc; ++i) {
    std::error_code missing;
    for (const auto& entry : std::filesystem::directory_iterator(argv[i], missing)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      const Input seed{std::istreambuf_iterator<char>(file), {}};
      LLVMFuzzerTestOneInput(seed.data(), seed.size());
      std::minstd_rand random(static_cast<unsigned>(seed.size()) + 1);
      for (int copy = 0; copy < copies; ++copy) {
        const Input damaged = damage(seed, random);
        LLVMFuzzerTestOneInput(damaged.data(), damaged.size());
      }
      ++files;
      runs += 1 + static_cast<size_t>(copies);
    }
  }
  std::printf("%zu files, %zu runs\n", files, runs);
  return files == 0 ? 1 : 0;
}
