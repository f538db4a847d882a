// SPDX-License-Identifier: Apache-2.0
#include "unwind/java/java_machine.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace cicada::unwind {
namespace {

constexpr uint64_t kBlock = 4096;
constexpr size_t kMaxBlocks = 4096;
constexpr unsigned kMaxSegments = 64, kMaxDynamic = 256, kMaxChain = 4096, kMaxEntries = 20'000, kMaxText = 64;
constexpr uint64_t kMaxHeapBytes = uint64_t{4} << 30;

// Memory that does not change while it is read: each block once.
class SteadyMemory {
 public:
  explicit SteadyMemory(const ReadMemory& read) : read_(read) {}
  // False: from then on nothing is read.
  bool failed() const { return failed_; }

  template <typename T>
  T get(uint64_t address) {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    auto* to = reinterpret_cast<uint8_t*>(&value);
    for (size_t done = 0; done < sizeof(T);) {
      const std::vector<uint8_t>* block = find(address + done);
      if (block == nullptr) return T{};
      const size_t begin = (address + done) % kBlock, part = std::min(sizeof(T) - done, kBlock - begin);
      std::memcpy(to + done, block->data() + begin, part);
      done += part;
    }
    return value;
  }
  // Up to its NUL; cut where it is longer than kMaxText.
  std::string text(uint64_t address) {
    std::string text;
    while (text.size() < kMaxText) {
      const char letter = get<char>(address + text.size());
      if (letter == 0) break;
      text += letter;
    }
    return text;
  }

 private:
  const std::vector<uint8_t>* find(uint64_t address) {
    if (failed_) return nullptr;
    const uint64_t number = address / kBlock;
    auto at = blocks_.find(number);
    if (at == blocks_.end()) {
      std::vector<uint8_t> block(kBlock);
      failed_ = blocks_.size() >= kMaxBlocks || !read_(RuntimeAddr(number * kBlock), block);
      if (failed_) return nullptr;
      at = blocks_.emplace(number, std::move(block)).first;
    }
    return &at->second;
  }

  const ReadMemory& read_;
  std::unordered_map<uint64_t, std::vector<uint8_t>> blocks_;
  bool failed_ = false;
};

// The dynamic symbols of a library in memory.
class Symbols {
 public:
  Symbols(SteadyMemory& memory, uint64_t library) : memory_(memory) {
    const auto header = memory.get<Elf64_Ehdr>(library);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr)) return;
    uint64_t dynamic = 0;
    bool loaded = false;
    for (unsigned i = 0; i < std::min<unsigned>(header.e_phnum, kMaxSegments); ++i) {
      const auto segment = memory.get<Elf64_Phdr>(library + header.e_phoff + i * sizeof(Elf64_Phdr));
      if (segment.p_type == PT_LOAD && !loaded) bias_ = library - (segment.p_vaddr - segment.p_offset), loaded = true;
      if (segment.p_type == PT_DYNAMIC) dynamic = segment.p_vaddr;
    }
    if (dynamic == 0) return;
    for (unsigned i = 0; i < kMaxDynamic; ++i) {
      const auto entry = memory.get<Elf64_Dyn>(bias_ + dynamic + i * sizeof(Elf64_Dyn));
      if (entry.d_tag == DT_NULL) break;
      // The loader has made addresses of them, or not (musl).
      const uint64_t address = entry.d_un.d_ptr < bias_ ? bias_ + entry.d_un.d_ptr : entry.d_un.d_ptr;
      if (entry.d_tag == DT_SYMTAB) symbols_ = address;
      if (entry.d_tag == DT_STRTAB) texts_ = address;
      if (entry.d_tag == DT_GNU_HASH) hash_ = address;
    }
  }

  // Its address; 0: there is none.
  uint64_t find(std::string_view name) {
    if (symbols_ == 0 || texts_ == 0 || hash_ == 0) return 0;
    uint32_t hash = 5381;
    for (const char letter : name) hash = hash * 33 + static_cast<uint8_t>(letter);
    const auto buckets = memory_.get<uint32_t>(hash_), first = memory_.get<uint32_t>(hash_ + 4), filter_words = memory_.get<uint32_t>(hash_ + 8);
    if (buckets == 0) return 0;
    const uint64_t bucket_table = hash_ + 16 + uint64_t{8} * filter_words, chains = bucket_table + uint64_t{4} * buckets;
    uint32_t index = memory_.get<uint32_t>(bucket_table + uint64_t{4} * (hash % buckets));
    if (index < first) return 0;
    for (unsigned i = 0; i < kMaxChain && !memory_.failed(); ++i, ++index) {
      const auto link = memory_.get<uint32_t>(chains + uint64_t{4} * (index - first));
      if ((link | 1) == (hash | 1)) {
        const auto symbol = memory_.get<Elf64_Sym>(symbols_ + uint64_t{index} * sizeof(Elf64_Sym));
        if (memory_.text(texts_ + symbol.st_name) == name) return bias_ + symbol.st_value;
      }
      if ((link & 1) != 0) break;
    }
    return 0;
  }
  // The word of a variable; 0: there is none.
  uint64_t value(const std::string& name) {
    const uint64_t address = find(name);
    return address == 0 ? 0 : memory_.get<uint64_t>(address);
  }

 private:
  SteadyMemory& memory_;
  uint64_t bias_ = 0, symbols_ = 0, texts_ = 0, hash_ = 0;
};

// Of a C++ type of HotSpot's source, as the tables write it.
uint8_t bytes_of(std::string_view type) {
  if (type == "int" || type == "uint" || type == "uint32_t" || type == "int32_t") return 4;
  if (type == "int16_t" || type == "uint16_t" || type == "u2") return 2;
  if (type == "uint8_t" || type == "u1" || type == "bool") return 1;
  return 8;
}

std::optional<int64_t> get(const ReadMemory& memory, uint64_t object, java_field field) {
  if (field.bytes == 0) return std::nullopt;
  std::array<uint8_t, 8> bytes{};
  if (!memory(RuntimeAddr(object + field.offset), std::span(bytes).first(field.bytes))) return std::nullopt;
  uint64_t word;
  std::memcpy(&word, bytes.data(), sizeof word);
  const unsigned unused = 64 - 8 * field.bytes;
  return field.is_signed != 0 ? static_cast<int64_t>(word << unused) >> unused : static_cast<int64_t>(word << unused >> unused);
}

}  // namespace

Result<JavaMachine> JavaMachine::read(const ReadMemory& read_memory, RuntimeAddr library) {
  SteadyMemory memory(read_memory);
  Symbols symbols(memory, library.value);
  JavaMachine machine;
  java_field by_offset{}, by_address{};
  struct Wanted {
    std::string_view type, field;
    java_field* of;
    uint64_t* place;  // static
  };
  const Wanted wanted[] = {
      {"CodeCache", "_heaps", nullptr, &machine.heaps_},
      {"CodeCache", "_heap", nullptr, &machine.only_heap_},  // 8
      {"AbstractInterpreter", "_code", nullptr, &machine.interpreter_},
      {"GrowableArrayBase", "_len", &machine.array_length_, nullptr},
      {"GenericGrowableArray", "_len", &machine.array_length_, nullptr},  // before 16
      {"GrowableArray<int>", "_data", &machine.array_data_, nullptr},
      {"CodeHeap", "_memory", &machine.heap_memory_, nullptr},
      {"CodeHeap", "_segmap", &machine.heap_segments_, nullptr},
      {"CodeHeap", "_log2_segment_size", &machine.heap_shift_, nullptr},
      {"VirtualSpace", "_low_boundary", &machine.space_low_, nullptr},
      {"VirtualSpace", "_high_boundary", &machine.space_high_, nullptr},
      {"CodeBlob", "_name", &machine.layout_.name, nullptr},
      {"CodeBlob", "_frame_size", &machine.layout_.frame_size, nullptr},
      {"CodeBlob", "_frame_complete_offset", &machine.layout_.frame_complete, nullptr},
      {"CodeBlob", "_code_begin", &by_address, nullptr},
      {"CodeBlob", "_code_offset", &by_offset, nullptr},  // 8, 23 and later
  };
  const uint64_t entries = symbols.value("gHotSpotVMStructs"), stride = symbols.value("gHotSpotVMStructEntryArrayStride");
  const auto of_entry = [&](const char* what) { return symbols.value(std::string("gHotSpotVMStructEntry") + what + "Offset"); };
  const uint64_t type_at = of_entry("TypeName"), field_at = of_entry("FieldName"), field_type_at = of_entry("TypeString"), offset_at = of_entry("Offset"),
                 address_at = of_entry("Address"), static_at = of_entry("IsStatic");
  const uint64_t types = symbols.value("gHotSpotVMTypes"), type_stride = symbols.value("gHotSpotVMTypeEntryArrayStride"),
                 type_name_at = symbols.value("gHotSpotVMTypeEntryTypeNameOffset"), size_at = symbols.value("gHotSpotVMTypeEntrySizeOffset");
  if (memory.failed()) return make_error(ErrorKind::kIo, "its memory cannot be read");
  if (entries == 0 || stride == 0 || types == 0 || type_stride == 0) return make_error(ErrorKind::kCorrupt, "it exports no gHotSpotVMStructs and gHotSpotVMTypes");

  std::unordered_map<uint64_t, bool> matters;  // by the address of a type's name: most are none of ours
  for (unsigned i = 0; i < kMaxEntries && !memory.failed(); ++i) {
    const uint64_t entry = entries + i * stride;
    const auto type_text = memory.get<uint64_t>(entry + type_at);
    if (type_text == 0) break;
    const auto known = matters.find(type_text);
    if (known != matters.end() && !known->second) continue;
    const std::string type = memory.text(type_text);
    const bool ours = std::any_of(std::begin(wanted), std::end(wanted), [&](const Wanted& one) { return one.type == type; });
    matters[type_text] = ours;
    if (!ours) continue;
    const std::string field = memory.text(memory.get<uint64_t>(entry + field_at));
    const auto found = std::find_if(std::begin(wanted), std::end(wanted), [&](const Wanted& one) { return one.type == type && one.field == field; });
    if (found == std::end(wanted)) continue;
    const bool is_static = memory.get<int32_t>(entry + static_at) != 0;
    if (is_static && found->place != nullptr) *found->place = memory.get<uint64_t>(entry + address_at);
    const auto offset = memory.get<uint64_t>(entry + offset_at);
    if (is_static || found->of == nullptr || offset > UINT16_MAX) continue;
    const std::string text = memory.text(memory.get<uint64_t>(entry + field_type_at));
    *found->of = {static_cast<uint16_t>(offset), bytes_of(text), static_cast<uint8_t>(text.starts_with("int"))};
  }
  for (unsigned i = 0; i < kMaxEntries && !memory.failed(); ++i) {
    const uint64_t entry = types + i * type_stride;
    const auto name = memory.get<uint64_t>(entry + type_name_at);
    if (name == 0) break;
    if (memory.text(name) != "HeapBlock") continue;
    machine.layout_.block_header_bytes = static_cast<uint32_t>(std::min<uint64_t>(memory.get<uint64_t>(entry + size_at), 256));
    break;
  }
  machine.layout_.code_begin = by_address.bytes != 0 ? by_address : by_offset;
  if (memory.failed()) return make_error(ErrorKind::kIo, "its memory cannot be read");
  for (const java_field field : {machine.heap_memory_, machine.heap_segments_, machine.heap_shift_, machine.space_low_, machine.space_high_, machine.layout_.name,
                                 machine.layout_.frame_size, machine.layout_.frame_complete, machine.layout_.code_begin})
    if (field.bytes == 0) return make_error(ErrorKind::kCorrupt, "its tables do not describe code heaps as those of OpenJDK 8 to 25 do");
  if ((machine.heaps_ == 0 || machine.array_length_.bytes == 0 || machine.array_data_.bytes == 0) && machine.only_heap_ == 0)
    return make_error(ErrorKind::kCorrupt, "its tables do not say where the code heaps are");
  return machine;
}

std::optional<java_code> JavaMachine::find_code(const ReadMemory& memory) const {
  const auto word = [&](uint64_t address) { return get(memory, address, {0, 8, 0}).value_or(0); };
  if (interpreter_ != 0 && word(interpreter_) == 0) return std::nullopt;
  std::vector<uint64_t> heaps;
  if (heaps_ != 0) {
    const auto array = static_cast<uint64_t>(word(heaps_));
    if (array == 0) return std::nullopt;
    const int64_t length = get(memory, array, array_length_).value_or(0);
    const auto data = static_cast<uint64_t>(get(memory, array, array_data_).value_or(0));
    for (int64_t i = 0; i < std::min<int64_t>(length, JAVA_CODE_HEAPS); ++i) heaps.push_back(static_cast<uint64_t>(word(data + 8 * static_cast<uint64_t>(i))));
  } else {
    heaps.push_back(static_cast<uint64_t>(word(only_heap_)));
  }
  java_code code = layout_;
  size_t count = 0;
  for (const uint64_t heap : heaps) {
    if (heap == 0) continue;
    const auto low = get(memory, heap + heap_memory_.offset, space_low_), high = get(memory, heap + heap_memory_.offset, space_high_),
               segments = get(memory, heap + heap_segments_.offset, space_low_), shift = get(memory, heap, heap_shift_);
    if (!low || !high || !segments || !shift || *low <= 0 || *high <= *low || *segments <= 0) continue;
    if (static_cast<uint64_t>(*high - *low) > kMaxHeapBytes || *shift < 3 || *shift > 20) continue;
    code.heaps[count++] = {static_cast<uint64_t>(*low), static_cast<uint64_t>(*high), static_cast<uint64_t>(*segments)};
    code.segment_shift = static_cast<uint32_t>(*shift);
  }
  if (count == 0 || count < heaps.size()) return std::nullopt;
  return code;
}

}  // namespace cicada::unwind
