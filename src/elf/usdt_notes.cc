// SPDX-License-Identifier: Apache-2.0
#include "elf/usdt_notes.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "base/near_names.h"
#include "elf/usdt_operands.h"

namespace cicada::elf {
namespace {

constexpr uint32_t kNoteType = 3;            // NT_STAPSDT
constexpr uint64_t kMaxArgumentBytes = 4096;  // a longer text is none
constexpr uint64_t kSearchWork = 700'000'000, kMaxTextBytes = 16 << 20, kWorkPerNote = 64;
constexpr size_t kMaxNearNames = 5'000;

// The counter is 16 bits, and the kernel takes it at even offsets only.
constexpr uint64_t kSemaphoreBytes = 2;

std::optional<FileOffset> find_offset(const ElfFile& image, LinkAddr address, uint32_t flags, uint64_t bytes) {
  for (const Segment& segment : image.segments()) {
    if (segment.type != PT_LOAD || (segment.flags & flags) == 0 || address < segment.address || segment.offset.value >= image.bytes().size()) continue;
    const uint64_t within = address - segment.address, size = std::min<uint64_t>(segment.file_size, image.bytes().size() - segment.offset.value);
    if (within < size && size - within >= bytes) return segment.offset + within;
  }
  return std::nullopt;
}

// Text up to its NUL. Nothing: too long, or cut off.
std::optional<std::string_view> take_text(ByteCursor& cursor, uint64_t most) {
  const std::string_view text = cursor.c_string();
  if (cursor.failed() || text.size() > most) return std::nullopt;
  return text;
}

std::optional<UsdtNote> parse_note(const ElfFile& image, Bytes content, const Section* base_section) {
  ByteCursor cursor(content);
  const uint64_t location = cursor.u64(), base = cursor.u64(), semaphore = cursor.u64();
  const auto provider = take_text(cursor, kMaxUsdtNameBytes), name = take_text(cursor, kMaxUsdtNameBytes), arguments = take_text(cursor, kMaxArgumentBytes);
  if (!provider || !name || !arguments || provider->empty() || name->empty()) return std::nullopt;
  // prelink moves a library without its notes.
  const uint64_t moved = base_section != nullptr && base != 0 ? base_section->address.value - base : 0;
  const auto offset = find_offset(image, LinkAddr(location + moved), PF_X, 1);
  if (!offset) return std::nullopt;
  UsdtNote note{*provider, *name, *arguments, *offset, FileOffset()};
  if (semaphore == 0) return note;
  const auto counter = find_offset(image, LinkAddr(semaphore + moved), PF_W, kSemaphoreBytes);
  if (!counter || counter->value == 0 || counter->value % kSemaphoreBytes != 0) return std::nullopt;
  note.semaphore = *counter;
  return note;
}

// Reads the notes of one section. False: the budget is used up.
bool append_notes(const ElfFile& image, Bytes section, const Section* base, WorkBudget& work, std::vector<UsdtNote>& notes) {
  ByteCursor cursor(section);
  while (cursor.remaining() >= 12) {
    const uint32_t owner_size = cursor.u32(), content_size = cursor.u32(), type = cursor.u32();
    const Bytes owner = cursor.take((uint64_t{owner_size} + 3) & ~uint64_t{3});
    const Bytes content = cursor.take(content_size);
    if (cursor.failed()) break;
    if (!work.spend(kWorkPerNote + image.segments().size() * 2 + owner.size() + content.size())) return false;
    if (type == kNoteType && owner_size == sizeof "stapsdt" && std::equal(owner.begin(), owner.begin() + owner_size, "stapsdt")) {
      if (notes.size() == kMaxUsdtNotes) return false;
      if (const auto note = parse_note(image, content, base)) notes.push_back(*note);
    }
    cursor.skip(std::min<uint64_t>(-uint64_t{content_size} & 3, cursor.remaining()));
  }
  return true;
}

// `*` takes as little as it can, and one letter more whenever what follows does not fit.
bool is_like(std::string_view pattern, std::string_view text) {
  size_t p = 0, at = 0, star = std::string_view::npos, resume = 0;
  while (at < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = at;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[at])) {
      ++p;
      ++at;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      at = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

std::string full_name(const UsdtNote& note) { return std::string(note.provider).append(":").append(note.name); }

}  // namespace

std::vector<UsdtNote> read_usdt_notes(const ElfFile& image, WorkBudget& work) {
  const Section* base = image.find_section(".stapsdt.base");
  std::vector<UsdtNote> notes;
  for (const Section& section : image.sections()) {
    if (section.name == ".note.stapsdt" && !append_notes(image, image.contents(section), base, work, notes)) break;
  }
  return notes;
}

UsdtSearch search_usdt(const ElfFile& image, std::span<const std::string> patterns, size_t limit, const std::stop_token& stop) {
  WorkBudget work(kSearchWork, stop), texts(kMaxTextBytes);
  const std::vector<UsdtNote> notes = read_usdt_notes(image, work);
  UsdtSearch search;
  search.notes = notes.size();
  search.near.resize(patterns.size());
  std::set<std::string> names;
  for (const UsdtNote& note : notes) {
    if (names.size() == kMaxNearNames) break;
    names.insert(full_name(note));
  }
  const std::vector<std::string> all(names.begin(), names.end());
  bool over_limit = notes.size() == kMaxUsdtNotes;
  for (uint32_t p = 0; p < patterns.size(); ++p) {
    const std::string_view pattern = patterns[p];
    const size_t colon = std::min(pattern.find(':'), pattern.size());
    const std::string_view provider = pattern.substr(0, colon), name = pattern.substr(std::min(colon + 1, pattern.size()));
    std::vector<const UsdtNote*> found;
    for (const UsdtNote& note : notes) {
      if (!work.spend(provider.size() * note.provider.size() + name.size() * note.name.size() + 1)) break;
      if (is_like(provider, note.provider) && is_like(name, note.name)) found.push_back(&note);
    }
    std::sort(found.begin(), found.end(), [](const UsdtNote* a, const UsdtNote* b) { return std::tie(a->offset, a->provider, a->name) < std::tie(b->offset, b->provider, b->name); });
    found.erase(std::unique(found.begin(), found.end(), [](const UsdtNote* a, const UsdtNote* b) { return a->offset == b->offset; }), found.end());
    std::sort(found.begin(), found.end(), [](const UsdtNote* a, const UsdtNote* b) { return std::tie(a->provider, a->name, a->offset) < std::tie(b->provider, b->name, b->offset); });
    for (const UsdtNote* note : found) {
      if (search.probes.size() == limit || !texts.spend(note->provider.size() + note->name.size())) {
        over_limit = true;
        break;
      }
      search.probes.push_back({p, note->offset, note->semaphore, parse_usdt_operands(note->arguments), full_name(*note)});
    }
    uint64_t letters = 0;
    for (const std::string& one : all) letters += one.size();
    if (found.empty() && work.spend(2 * pattern.size() * letters)) search.near[p] = near_names(pattern, all);
  }
  search.cut_short = over_limit || work.exhausted() || stop.stop_requested();
  return search;
}

}  // namespace cicada::elf
