// SPDX-License-Identifier: Apache-2.0
// A profile holds addresses that were executing (or calling), never where their instructions begin: return addresses are
// stored minus one. So a count belongs to the instruction whose bytes hold the address.
#include "cli/report_annotate.h"

#include <capstone/capstone.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "abi/arch.h"
#include "base/clean_text.h"
#include "base/file_mapping.h"
#include "base/number_text.h"
#include "cli/report_functions.h"
#include "cli/report_text.h"
#include "elf/elf_file.h"
#include "process/procfs/process_files.h"
#include "profile/stack_totals.h"
#include "symbolize/files/image_files.h"
#include "symbolize/symbols/image_symbols.h"

namespace cicada::cli {
namespace {

using profile::Profile;
using profile::ProfileSnapshot;

constexpr uint64_t kMaxSourceBytes = 16 << 20;
constexpr uint64_t kMaxCodeBytes = 1 << 20;
constexpr uint32_t kContextLines = 3;

struct Cost {
  uint64_t self = 0, total = 0;
};

struct Costs {
  std::map<std::pair<profile::StringId, uint32_t>, Cost> lines;    // by file and line
  std::map<std::pair<profile::ImageId, uint64_t>, Cost> addresses; // link addresses of native frames
  std::map<profile::ImageId, profile::FunctionId> outermost;       // whose code the addresses are in
  uint64_t all = 0;
  bool found = false;
};

Costs add_up_costs(const ProfileSnapshot& profile, const profile::CallTreeOptions& options, const std::string& function, const TableNames& names) {
  std::vector<bool> meant;
  for (const profile::Function& row : profile.functions()) meant.push_back(names.means(profile.text(row.name), function));
  Costs costs;
  std::vector<const void*> seen;  // places this stack has been counted for already: recursion counts once
  for (const profile::StackTotal& stack : profile::add_up_stacks(profile, options)) {
    costs.all += stack.value;
    seen.clear();
    bool leaf = true;
    const auto count = [&](Cost& cost, bool itself) {
      if (itself) cost.self += stack.value;
      if (std::find(seen.begin(), seen.end(), &cost) != seen.end()) return;
      seen.push_back(&cost);
      cost.total += stack.value;
    };
    for (profile::StackId at = stack.stack; at.valid(); at = profile.stacks()[at.value].parent, leaf = false) {
      const profile::FrameId id = profile.stacks()[at.value].frame;
      const profile::Frame& frame = profile.frames()[id.value];
      const auto locations = profile.locations(id);
      for (size_t i = 0; i < locations.size(); ++i) {
        if (!meant[locations[i].function.value]) continue;
        costs.found = true;
        if (locations[i].file.valid() && locations[i].line != 0) count(costs.lines[{locations[i].file, locations[i].line}], leaf && i == 0);
        if (frame.kind != profile::FrameKind::kNative || !frame.image.valid()) continue;
        costs.outermost.try_emplace(frame.image, locations.back().function);
        count(costs.addresses[{frame.image, frame.address}], leaf && i == 0);
      }
    }
  }
  return costs;
}

std::string numbers(const Cost& cost, uint64_t all) {
  const auto text = [&](uint64_t part) { return part == 0 ? std::string() : fmt::format("{:.1f} %", percent(part, all)); };
  return fmt::format("{:>9}{:>9}", text(cost.self), text(cost.total));
}

// A recording names any file as source: the programs in it say so. Root reads what everybody may read.
Result<UniqueFd> open_source(const std::string& path) {
  if (::geteuid() != 0) return open_regular(path);
  DisposableChildren children(std::chrono::seconds(2));
  auto file = process::ProcessFiles::open_as_nobody(children, path);
  if (!file && file.error().kind() == ErrorKind::kPermission) return file.error().within("not readable for everybody, and this is root");
  if (!file) return file.error();
  return std::move(file->fd);
}

Result<std::vector<std::string>> read_lines(const std::string& path) {
  const UniqueFd fd = TRY(open_source(path));
  const FileMapping file = TRY(FileMapping::map(fd.get(), path));
  const Bytes bytes = file.bytes();
  if (bytes.size() > kMaxSourceBytes) return make_error(ErrorKind::kLimit, "{}: too large to be source", path);
  std::vector<std::string> lines(1);
  for (const uint8_t byte : bytes) {
    if (byte == '\n') lines.emplace_back();
    else lines.back() += byte == '\t' ? ' ' : static_cast<char>(byte);
  }
  return lines;
}

// The lines between the first and the last one with samples, and some around them; long silent stretches are cut.
Result<std::string> annotate_source(const ProfileSnapshot& profile, const Costs& costs) {
  std::map<profile::StringId, std::map<uint32_t, Cost>> files;
  for (const auto& [place, cost] : costs.lines) files[place.first][place.second] = cost;
  std::string out;
  for (const auto& [file, counted] : files) {
    const std::string path(profile.text(file));
    const std::vector<std::string> lines = TRY(read_lines(path));
    if (counted.rbegin()->first > lines.size())
      return make_error(ErrorKind::kGone, "{}: has {} lines, but was recorded with {}", path, lines.size(), counted.rbegin()->first);
    out += fmt::format("{}\n{:>9}{:>9}{:>7}\n", clean_text(path), "self", "total", "line");
    uint32_t next = 1;
    for (const auto& [line, cost] : counted) {
      const uint32_t from = line > kContextLines ? line - kContextLines : 1;
      if (from > next) out += next == 1 ? "" : fmt::format("{:>25}\n", "…");
      for (uint32_t i = std::max(from, next); i <= std::min<size_t>(line + kContextLines, lines.size()); ++i) {
        const auto here = counted.find(i);
        out += fmt::format("{}{:>7}  {}\n", here == counted.end() ? std::string(18, ' ') : numbers(here->second, costs.all), i, clean_text(lines[i - 1]));
        next = i + 1;
      }
    }
  }
  return out;
}

struct Disassembler {
  csh handle = 0;
  cs_insn* instruction = nullptr;
  ~Disassembler() {
    if (instruction != nullptr) cs_free(instruction, 1);
    if (handle != 0) cs_close(&handle);
  }
};

Result<std::string> disassemble(Bytes code, uint64_t begin, const std::map<uint64_t, Cost>& counted, uint64_t all) {
  Disassembler disassembler;
  if (cs_open(CS_ARCH_X86, CS_MODE_64, &disassembler.handle) != CS_ERR_OK) return make_error(ErrorKind::kUnsupported, "capstone cannot disassemble " ARCH_NAME);
  cs_option(disassembler.handle, CS_OPT_SKIPDATA, CS_OPT_ON);
  disassembler.instruction = cs_malloc(disassembler.handle);
  const cs_insn* instruction = disassembler.instruction;
  const uint8_t* at = code.data();
  size_t left = code.size();
  uint64_t address = begin;
  std::string out = fmt::format("{:>9}{:>9}{:>12}\n", "self", "total", "address");
  while (cs_disasm_iter(disassembler.handle, &at, &left, &address, disassembler.instruction)) {
    Cost cost;
    for (auto it = counted.lower_bound(instruction->address); it != counted.end() && it->first < instruction->address + instruction->size; ++it) {
      cost.self += it->second.self;
      cost.total += it->second.total;
    }
    out += fmt::format("{}{:>12x}  {:<8} {}\n", numbers(cost, all), instruction->address, instruction->mnemonic, instruction->op_str);
  }
  return out;
}

Result<std::string> annotate_instructions(const ProfileSnapshot& profile, const Costs& costs) {
  if (costs.addresses.empty())
    return make_error(ErrorKind::kNotFound, "this recording has neither source lines nor code addresses of the function");
  const auto files = symbolize::on_disk_images();
  std::string out;
  for (const auto& entry : costs.outermost) {  // clang 14 does not capture structured bindings
    const profile::ImageId image = entry.first;
    const profile::FunctionId function = entry.second;
    const std::string path(profile.text(profile.images()[image.value].path));
    const UniqueFd fd = TRY(files->find(profile, image).open());
    FileMapping mapping = TRY(FileMapping::map(fd.get(), path));
    const elf::ElfFile elf = TRY(elf::ElfFile::parse(std::move(mapping), path));
    const auto symbols = TRY(symbolize::ImageSymbols::open(fd.get(), path, symbolize::companions_in({}), {}));
    std::map<uint64_t, std::map<uint64_t, Cost>> functions;  // by where the code begins
    std::map<uint64_t, uint64_t> ends;
    for (const auto& [place, cost] : costs.addresses) {
      if (place.first != image) continue;
      const auto symbol = symbols->find_symbol(LinkAddr(place.second));
      if (!symbol) continue;
      functions[symbol->code.begin.value][place.second] = cost;
      ends[symbol->code.begin.value] = symbol->code.end.value;
    }
    for (const auto& [begin, counted] : functions) {
      Bytes code = elf.contents_at(LinkAddr(begin));
      code = code.first(std::min<uint64_t>({code.size(), ends[begin] - begin, kMaxCodeBytes}));
      if (code.empty()) continue;
      out += fmt::format("{} in {}\n", clean_text(profile.text(profile.functions()[function.value].name)), clean_text(path));
      out += TRY(disassemble(code, begin, counted, costs.all));
    }
  }
  if (out.empty()) return make_error(ErrorKind::kNotFound, "no symbol says where the function's code begins and ends");
  return out;
}

}  // namespace

Result<std::string> annotate_function(const ProfileSnapshot& profile, const profile::CallTreeOptions& options, const std::string& function,
                                      const TableNames& names, bool instructions) {
  const Costs costs = add_up_costs(profile, options, function, names);
  if (!costs.found) {
    // The names that come close are the tree's.
    return callees_of(profile::build_call_tree(profile, options), function, names).error().within("--annotate");
  }
  if (instructions) return annotate_instructions(profile, costs);
  Result<std::string> source = make_error(ErrorKind::kNotFound, "no source lines in the recording");
  if (!costs.lines.empty()) source = annotate_source(profile, costs);
  if (source) return source;
  Result<std::string> code = annotate_instructions(profile, costs);
  if (!code) return code.error().within(fmt::format("--annotate {}: {}", function, source.error().message()));
  return fmt::format("instructions, because: {}\n{}", source.error().message(), *code);
}

}  // namespace cicada::cli
