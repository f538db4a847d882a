// SPDX-License-Identifier: Apache-2.0
// Bytes of unwind table per row boundary of libdw, over every ELF file under /usr/bin, /usr/sbin and /usr/lib (or the files given),
// beside the layouts of 8 and 12 bytes a row that others use (lightswitch; parca).
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "unwind/row_compiler.h"
#include "unwind/rows/table_layout.h"

namespace {

struct Image {
  std::string path;
  uint64_t cfi_rows = 0, rows = 0, bytes = 0;
};

double ratio(uint64_t a, uint64_t b) { return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b); }

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> paths(argv + 1, argv + argc);
  if (paths.empty()) {
    for (const char* root : {"/usr/bin", "/usr/sbin", "/usr/lib"}) {
      std::error_code error;
      using Iterator = std::filesystem::recursive_directory_iterator;
      for (auto i = Iterator(root, std::filesystem::directory_options::skip_permission_denied, error); i != Iterator(); i.increment(error)) {
        if (!error && i->is_regular_file(error) && !i->is_symlink(error)) paths.push_back(i->path());
      }
    }
  }
  std::vector<Image> images;
  cicada::unwind::TableLayout::Parts sum;
  Image total;
  for (const std::string& path : paths) {
    const auto elf = cicada::elf::ElfFile::open(path);
    if (!elf) continue;
    const auto table = cicada::unwind::compile_rows(*elf);
    if (!table || table->stats().fdes == 0) continue;
    const auto layout = cicada::unwind::TableLayout::plan(*table, 0);
    images.push_back({path, table->stats().cfi_rows, table->rows().size(), layout.size_bytes()});
    total.cfi_rows += images.back().cfi_rows;
    total.rows += images.back().rows;
    total.bytes += images.back().bytes;
    const auto& parts = layout.parts();
    sum.index += parts.index;
    sum.rules += parts.rules;
    sum.headers += parts.headers;
    sum.dictionaries += parts.dictionaries;
    sum.rows += parts.rows;
    sum.page_rows += parts.page_rows;
    sum.chunk_gaps += parts.chunk_gaps;
  }
  std::sort(images.begin(), images.end(), [](const Image& a, const Image& b) { return a.cfi_rows > b.cfi_rows; });
  std::printf("%-56s %10s %10s %10s %7s\n", "the ten largest of the images", "boundaries", "merged", "bytes", "B/row");
  for (size_t i = 0; i < std::min<size_t>(10, images.size()); ++i) {
    const Image& image = images[i];
    std::printf("%-56s %10lu %10lu %10lu %7.2f\n", image.path.c_str(), image.cfi_rows, image.rows, image.bytes, ratio(image.bytes, image.cfi_rows));
  }
  const uint64_t rounding = sum.page_rows + sum.chunk_gaps;
  std::printf("\n%zu images, %lu row boundaries, %lu rows after merging\n", images.size(), total.cfi_rows, total.rows);
  std::printf("table %lu bytes: %.3f per boundary, %.3f without page rounding (rows repeated at page begins %.3f, chunk ends %.3f)\n",
              total.bytes, ratio(total.bytes, total.cfi_rows), ratio(total.bytes - rounding, total.cfi_rows),
              ratio(sum.page_rows, total.cfi_rows), ratio(sum.chunk_gaps, total.cfi_rows));
  std::printf("  rows %.3f  headers %.3f  dictionaries %.3f  page index %.3f  rules %.3f\n", ratio(sum.rows - sum.page_rows, total.cfi_rows),
              ratio(sum.headers, total.cfi_rows), ratio(sum.dictionaries, total.cfi_rows), ratio(sum.index, total.cfi_rows),
              ratio(sum.rules, total.cfi_rows));
  std::printf("beside it: 8 bytes a row %lu (%.2f x), 12 bytes a row %lu (%.2f x)\n", 8 * total.cfi_rows,
              ratio(8 * total.cfi_rows, total.bytes), 12 * total.cfi_rows, ratio(12 * total.cfi_rows, total.bytes));
  return 0;
}
