// SPDX-License-Identifier: Apache-2.0
// The load of bench/results: a C++ program with debug information that sorts numbers and counts words until it is killed.
#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace {

size_t count_words(std::mt19937& random) {
  std::map<std::string, int> counts;
  for (int i = 0; i < 20000; ++i) ++counts["word" + std::to_string(random() % 5000)];
  return counts.size();
}

unsigned sort_numbers(std::mt19937& random) {
  std::vector<unsigned> numbers(50000);
  std::generate(numbers.begin(), numbers.end(), [&] { return static_cast<unsigned>(random()); });
  std::sort(numbers.begin(), numbers.end());
  return numbers[7];
}

}  // namespace

int main() {
  std::mt19937 random(1);
  for (volatile size_t all = 0;;) all = all + count_words(random) + sort_numbers(random);
}
