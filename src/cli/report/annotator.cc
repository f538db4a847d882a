// SPDX-License-Identifier: Apache-2.0
#include "cli/report/annotator.h"

#include <capstone/capstone.h>

#include <algorithm>
#include <utility>
#include <chrono>

#include "abi/arch.h"
#include "base/file_mapping.h"
#include "elf/elf_file.h"
#include "sandbox/lock_down.h"
#include "symbolize/files/image_files.h"
#include "symbolize/symbols/image_symbols.h"

namespace cicada::cli {
namespace {

using profile::ProfileSnapshot;
using sink::AnnotatedLine;
using sink::AnnotatedPart;

constexpr uint64_t kMaxSourceBytes = 16 << 20;
constexpr uint64_t kMaxCodeBytes = 1 << 20;
constexpr uint32_t kContextLines = 3;
// Of hottest(). Ten functions hold most of a profile; thirty of Chromium's take 0.2 MB, and 40 kB of the compressed report.
constexpr size_t kMaxFunctions = 30, kMaxRowsWithSamples = 200, kMaxBytes = 2 << 20;
constexpr double kLeastShare = 0.002;
constexpr auto kMaxTime = std::chrono::seconds(20);

// Root wonders why it may not.
Error explained(const Error& error) {
  if (error.kind() != ErrorKind::kPermission || !sandbox::is_reader_user()) return error;
  return error.within("what a recording names is read for root with nobody's rights; let everybody read it, or run this as its owner");
}

Result<std::vector<std::string>> read_lines(const std::string& path) {
  const Result<FileMapping> file = FileMapping::open(path);
  if (!file) return explained(file.error());
  const Bytes bytes = file->bytes();
  if (bytes.size() > kMaxSourceBytes) return make_error(ErrorKind::kLimit, "{}: too large to be source", path);
  std::vector<std::string> lines(1);
  for (const uint8_t byte : bytes) {
    if (byte == '\n') lines.emplace_back();
    else lines.back() += byte == '\t' ? ' ' : static_cast<char>(byte);
  }
  return lines;
}

struct Disassembler {
  csh handle = 0;
  cs_insn* instruction = nullptr;
  ~Disassembler() {
    if (instruction != nullptr) cs_free(instruction, 1);
    if (handle != 0) cs_close(&handle);
  }
};

Result<std::vector<AnnotatedLine>> disassemble(Bytes code, uint64_t begin, const std::map<uint64_t, Cost>& counted) {
  Disassembler disassembler;
  if (cs_open(CS_ARCH_X86, CS_MODE_64, &disassembler.handle) != CS_ERR_OK) return make_error(ErrorKind::kUnsupported, "capstone cannot disassemble " ARCH_NAME);
  cs_option(disassembler.handle, CS_OPT_SKIPDATA, CS_OPT_ON);
  disassembler.instruction = cs_malloc(disassembler.handle);
  const cs_insn* instruction = disassembler.instruction;
  const uint8_t* at = code.data();
  size_t left = code.size();
  uint64_t address = begin;
  std::vector<AnnotatedLine> lines;
  while (cs_disasm_iter(disassembler.handle, &at, &left, &address, disassembler.instruction)) {
    AnnotatedLine line{instruction->address, fmt::format("{:<8} {}", instruction->mnemonic, instruction->op_str)};
    for (auto it = counted.lower_bound(instruction->address); it != counted.end() && it->first < instruction->address + instruction->size; ++it) {
      line.self += it->second.self;
      line.total += it->second.total;
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

// Lines with samples, the costliest if there are very many, and some around them.
void keep_near_samples(AnnotatedPart& part) {
  std::vector<size_t> with_samples;
  for (size_t i = 0; i < part.lines.size(); ++i)
    if (part.lines[i].total != 0) with_samples.push_back(i);
  std::ranges::stable_sort(with_samples, std::greater<>(), [&](size_t i) { return std::pair(part.lines[i].self, part.lines[i].total); });
  with_samples.resize(std::min(with_samples.size(), kMaxRowsWithSamples));
  std::vector<bool> kept(part.lines.size());
  for (const size_t i : with_samples)
    for (size_t near = i - std::min<size_t>(i, kContextLines); near <= i + kContextLines && near < kept.size(); ++near) kept[near] = true;
  std::vector<AnnotatedLine> lines;
  bool gap = false;
  for (size_t i = 0; i < kept.size(); ++i) {
    gap |= !kept[i] || part.lines[i].after_gap;
    if (!kept[i]) continue;
    lines.push_back(std::move(part.lines[i]));
    lines.back().after_gap = gap && lines.size() > 1;
    gap = false;
  }
  part.lines = std::move(lines);
}

}  // namespace

struct Annotator::OpenImage {
  std::string path;
  UniqueFd fd;
  elf::ElfFile elf;
  std::unique_ptr<symbolize::ImageSymbols> symbols;
};

Annotator::Annotator(const ProfileSnapshot& profile, const profile::CallTreeOptions& options) : profile_(profile), stacks_(profile::add_up_stacks(profile, options)) {
  for (const profile::StackTotal& stack : stacks_) all_ += stack.value;
}
Annotator::~Annotator() = default;

std::vector<FunctionCosts> Annotator::add_up(const std::vector<uint32_t>& which, size_t count) const {
  std::vector<FunctionCosts> all(count);
  std::vector<const void*> seen;  // places this stack has been counted for already: recursion counts once
  for (const profile::StackTotal& stack : stacks_) {
    seen.clear();
    bool leaf = true;
    const auto add = [&](Cost& cost, bool itself) {
      if (itself) cost.self += stack.value;
      if (std::find(seen.begin(), seen.end(), &cost) != seen.end()) return;
      seen.push_back(&cost);
      cost.total += stack.value;
    };
    for (profile::StackId at = stack.stack; at.valid(); at = profile_.stacks()[at.value].parent, leaf = false) {
      const profile::FrameId id = profile_.stacks()[at.value].frame;
      const profile::Frame& frame = profile_.frames()[id.value];
      const auto locations = profile_.locations(id);
      bool innermost = true;
      for (const profile::Location& location : locations) {
        const bool itself = leaf && std::exchange(innermost, false);
        if (which[location.function.value] == kNotMeant) continue;
        FunctionCosts& costs = all[which[location.function.value]];
        costs.found = true;
        if (location.file.valid() && location.line != 0) add(costs.lines[{location.file, location.line}], itself);
        if (frame.kind != profile::FrameKind::kNative || !frame.image.valid()) continue;
        costs.outermost.try_emplace(frame.image, locations.back().function);
        add(costs.addresses[{frame.image, frame.address}], itself);
      }
    }
  }
  return all;
}

Result<std::vector<AnnotatedPart>> Annotator::source(const FunctionCosts& costs) const {
  if (costs.lines.empty()) return make_error(ErrorKind::kNotFound, "no source lines of it in the recording: its file has no debug information, or they were not looked up (--no-lines)");
  std::map<profile::StringId, std::map<uint32_t, Cost>> files;
  for (const auto& [place, cost] : costs.lines) files[place.first][place.second] = cost;
  std::vector<AnnotatedPart> parts;
  for (const auto& [file, counted] : files) {
    const std::string path(profile_.text(file));
    std::vector<std::string> lines = TRY(read_lines(path));
    if (counted.rbegin()->first > lines.size())
      return make_error(ErrorKind::kGone, "{}: has {} lines, but was recorded with {}", path, lines.size(), counted.rbegin()->first);
    AnnotatedPart part{false, path, {}};
    uint32_t next = 1;
    for (const auto& [line, cost] : counted) {
      const uint32_t from = line > kContextLines ? line - kContextLines : 1;
      bool gap = from > next && next != 1;
      for (uint32_t i = std::max(from, next); i <= std::min<size_t>(line + kContextLines, lines.size()); ++i) {
        const auto here = counted.find(i);
        part.lines.push_back({i, std::move(lines[i - 1]), here == counted.end() ? 0 : here->second.self, here == counted.end() ? 0 : here->second.total, gap});
        gap = false;
        next = i + 1;
      }
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

Result<Annotator::OpenImage*> Annotator::open(profile::ImageId image) {
  std::unique_ptr<OpenImage>& open = images_[image];
  if (open == nullptr) {
    std::string path(profile_.text(profile_.images()[image.value].path));
    Result<UniqueFd> fd = symbolize::on_disk_images()->find(profile_, image).open({});
    if (!fd) return explained(fd.error());
    FileMapping mapping = TRY(FileMapping::map(fd->get(), path));
    elf::ElfFile elf = TRY(elf::ElfFile::parse(std::move(mapping), path));
    auto symbols = TRY(symbolize::ImageSymbols::open(fd->get(), path, symbolize::companions_in({}), {}));
    open = std::make_unique<OpenImage>(OpenImage{std::move(path), std::move(*fd), std::move(elf), std::move(symbols)});
  }
  return open.get();
}

Result<std::vector<AnnotatedPart>> Annotator::instructions(const FunctionCosts& costs) {
  if (costs.addresses.empty())
    return make_error(ErrorKind::kNotFound, "this recording has neither source lines nor code addresses of the function");
  std::vector<AnnotatedPart> parts;
  for (const auto& [image, function] : costs.outermost) {
    const OpenImage& file = *TRY(open(image));
    std::map<uint64_t, std::map<uint64_t, Cost>> functions;  // by where the code begins
    std::map<uint64_t, uint64_t> ends;
    for (const auto& [place, cost] : costs.addresses) {
      if (place.first != image) continue;
      const auto symbol = file.symbols->find_symbol(LinkAddr(place.second));
      if (!symbol) continue;
      functions[symbol->code.begin.value][place.second] = cost;
      ends[symbol->code.begin.value] = symbol->code.end.value;
    }
    for (const auto& [begin, counted] : functions) {
      Bytes code = file.elf.contents_at(LinkAddr(begin));
      code = code.first(std::min<uint64_t>({code.size(), ends[begin] - begin, kMaxCodeBytes}));
      if (code.empty()) continue;
      parts.push_back({true, fmt::format("{} in {}", profile_.text(profile_.functions()[function.value].name), file.path), TRY(disassemble(code, begin, counted))});
    }
  }
  if (parts.empty()) return make_error(ErrorKind::kNotFound, "no symbol says where the function's code begins and ends");
  return parts;
}

std::vector<sink::Annotation> Annotator::hottest() {
  std::map<std::string_view, uint64_t> self;  // of functions that have code
  for (const profile::StackTotal& stack : stacks_) {
    if (!stack.stack.valid()) continue;
    const profile::FrameId id = profile_.stacks()[stack.stack.value].frame;
    const auto locations = profile_.locations(id);
    if (!locations.empty() && profile_.frames()[id.value].kind != profile::FrameKind::kKernel)
      self[profile_.text(profile_.functions()[locations.front().function.value].name)] += stack.value;
  }
  std::vector<std::pair<uint64_t, std::string_view>> order;
  for (const auto& [name, value] : self)
    if (static_cast<double>(value) >= kLeastShare * static_cast<double>(all_)) order.emplace_back(value, name);
  std::ranges::stable_sort(order, std::greater<>(), [](const auto& entry) { return entry.first; });
  order.resize(std::min(order.size(), kMaxFunctions));
  std::map<std::string_view, uint32_t> place;
  for (uint32_t i = 0; i < order.size(); ++i) place[order[i].second] = i;
  std::vector<uint32_t> which;
  for (const profile::Function& function : profile_.functions()) {
    const auto found = place.find(profile_.text(function.name));
    which.push_back(found == place.end() ? kNotMeant : found->second);
  }
  const std::vector<FunctionCosts> costs = add_up(which, order.size());
  const auto end = std::chrono::steady_clock::now() + kMaxTime;
  std::vector<sink::Annotation> found;
  size_t bytes = 0;
  for (size_t i = 0; i < order.size() && bytes < kMaxBytes && std::chrono::steady_clock::now() < end; ++i) {
    sink::Annotation annotation{std::string(order[i].second), {}, {}};
    const auto take = [&](Result<std::vector<AnnotatedPart>> parts) {
      if (!parts) annotation.missing += (annotation.missing.empty() ? "" : "; ") + parts.error().message();
      else std::ranges::move(*parts, std::back_inserter(annotation.parts));
    };
    take(source(costs[i]));
    take(instructions(costs[i]));
    for (AnnotatedPart& part : annotation.parts) {
      keep_near_samples(part);
      for (const AnnotatedLine& line : part.lines) bytes += line.text.size();
    }
    found.push_back(std::move(annotation));
  }
  return found;
}

}  // namespace cicada::cli
