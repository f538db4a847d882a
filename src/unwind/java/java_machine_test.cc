// SPDX-License-Identifier: Apache-2.0
#include "unwind/java/java_machine.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace cicada::unwind {
namespace {

constexpr uint64_t kLibrary = 0x7f1200000000;

// What a process with a libjvm.so has in its memory: the library with its dynamic symbols and tables, and its heaps.
class FakeProcess {
 public:
  FakeProcess() : bytes_(0x20000) {}

  // From the library's begin on.
  uint64_t reserve(size_t size) {
    used_ = (used_ + 15) & ~uint64_t{15};
    return std::exchange(used_, used_ + size);
  }
  template <typename T>
  void put(uint64_t offset, const T& value) {
    std::memcpy(&bytes_.at(offset), &value, sizeof value);
  }
  uint64_t add_word(uint64_t value) {
    const uint64_t at = reserve(8);
    put(at, value);
    return at;
  }
  uint64_t add_text(const std::string& text) {
    if (const auto known = texts_.find(text); known != texts_.end()) return known->second;
    const uint64_t at = reserve(text.size() + 1);
    std::memcpy(&bytes_[at], text.c_str(), text.size() + 1);
    return texts_[text] = kLibrary + at;
  }
  void add_symbol(const std::string& name, uint64_t offset) { symbols_.emplace_back(name, offset); }
  void add_variable(const std::string& name, uint64_t value) { add_symbol(name, add_word(value)); }

  struct Field {
    std::string type, name, type_text;
    bool is_static;
    uint64_t place;  // offset or address
  };
  std::vector<Field> fields;
  uint64_t header_bytes = 16;

  // The tables and the file's head, after everything else.
  void finish() {
    const uint64_t table = reserve(48 * (fields.size() + 1));
    for (size_t i = 0; i < fields.size(); ++i) {
      const Field& field = fields[i];
      const uint64_t entry = table + 48 * i;
      put(entry, add_text(field.type));
      put(entry + 8, add_text(field.name));
      put(entry + 16, add_text(field.type_text));
      put(entry + 24, int32_t{field.is_static});
      put(entry + 32, field.is_static ? 0 : field.place);
      put(entry + 40, field.is_static ? field.place : 0);
    }
    add_variable("gHotSpotVMStructs", kLibrary + table);
    const std::pair<const char*, uint64_t> places[] = {{"TypeNameOffset", 0}, {"FieldNameOffset", 8}, {"TypeStringOffset", 16}, {"IsStaticOffset", 24}, {"OffsetOffset", 32}, {"AddressOffset", 40}, {"ArrayStride", 48}};
    for (const auto& [name, value] : places) add_variable(std::string("gHotSpotVMStructEntry") + name, value);
    const uint64_t types = reserve(3 * 40);
    put(types, add_text("oopDesc"));
    put(types + 40, add_text("HeapBlock"));
    put(types + 40 + 32, header_bytes);
    add_variable("gHotSpotVMTypes", kLibrary + types);
    const std::pair<const char*, uint64_t> type_places[] = {{"TypeNameOffset", 0}, {"SizeOffset", 32}, {"ArrayStride", 40}};
    for (const auto& [name, value] : type_places) add_variable(std::string("gHotSpotVMTypeEntry") + name, value);
    write_symbols();
  }

  ReadMemory reader() {
    return [this](RuntimeAddr address, std::span<uint8_t> to) {
      ++reads;
      const uint64_t offset = address.value - kLibrary;
      if (offset > bytes_.size() || to.size() > bytes_.size() - offset) return false;
      std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), to.size(), to.begin());
      return true;
    };
  }
  size_t reads = 0;
  bool relocated = true;

 private:
  void write_symbols() {
    // One bucket: all in one chain.
    const uint64_t table = reserve(24 * (symbols_.size() + 1)), hashes = reserve(16 + 8 + 4 + 4 * symbols_.size());
    std::string text(1, '\0');
    std::vector<uint64_t> names;
    for (const auto& symbol : symbols_) {
      names.push_back(text.size());
      text += symbol.first + '\0';
    }
    const uint64_t texts = reserve(text.size());
    std::memcpy(&bytes_[texts], text.data(), text.size());
    put(hashes, uint32_t{1});
    put(hashes + 4, uint32_t{1});
    put(hashes + 8, uint32_t{1});
    put(hashes + 24, uint32_t{1});
    for (size_t i = 0; i < symbols_.size(); ++i) {
      Elf64_Sym symbol{};
      symbol.st_name = static_cast<uint32_t>(names[i]);
      symbol.st_value = symbols_[i].second;
      put(table + 24 * (i + 1), symbol);
      uint32_t hash = 5381;
      for (const char letter : symbols_[i].first) hash = hash * 33 + static_cast<uint8_t>(letter);
      put(hashes + 28 + 4 * i, i + 1 == symbols_.size() ? hash | 1 : hash & ~1U);
    }
    const uint64_t dynamic = reserve(4 * sizeof(Elf64_Dyn)), base = relocated ? kLibrary : 0;
    const Elf64_Dyn entries[] = {{DT_GNU_HASH, {base + hashes}}, {DT_STRTAB, {base + texts}}, {DT_SYMTAB, {base + table}}, {DT_NULL, {0}}};
    put(dynamic, entries);
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 2;
    put(0, header);
    Elf64_Phdr load{}, segment{};
    load.p_type = PT_LOAD;
    segment.p_type = PT_DYNAMIC;
    segment.p_vaddr = dynamic;
    put(sizeof header, load);
    put(sizeof header + sizeof load, segment);
  }

  std::vector<uint8_t> bytes_;
  uint64_t used_ = 0x200;
  std::map<std::string, uint64_t> texts_;
  std::vector<std::pair<std::string, uint64_t>> symbols_;
};

// Heaps that begin at 0x1000, 0x2000, …, of 0x800 bytes, with segment maps at 0x9000, …. The address of the first CodeHeap; they are 0x100 apart.
uint64_t add_heaps(FakeProcess& process, size_t count) {
  const uint64_t heaps = process.reserve(0x100 * count);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t heap = heaps + 0x100 * i;
    process.put(heap + 8 + 16, 0x1000 * (i + 1));
    process.put(heap + 8 + 24, 0x1000 * (i + 1) + 0x800);
    process.put(heap + 0x60 + 16, 0x9000 + i);
    process.put(heap + 0xa0, int32_t{7});
  }
  process.fields.insert(process.fields.end(), {{"CodeHeap", "_memory", "VirtualSpace", false, 8},
                                               {"CodeHeap", "_segmap", "VirtualSpace", false, 0x60},
                                               {"CodeHeap", "_log2_segment_size", "int", false, 0xa0},
                                               {"VirtualSpace", "_low_boundary", "char*", false, 16},
                                               {"VirtualSpace", "_high_boundary", "char*", false, 24},
                                               {"VirtualSpace", "_low", "char*", false, 32}});
  return kLibrary + heaps;
}

void add_blob(FakeProcess& process, bool addresses, const char* width_of_complete) {
  process.fields.insert(process.fields.end(), {{"CodeBlob", "_name", "const char*", false, 64},
                                               {"CodeBlob", "_frame_size", "int", false, 44},
                                               {"CodeBlob", "_frame_complete_offset", width_of_complete, false, 40},
                                               {"CodeBlob", addresses ? "_code_begin" : "_code_offset", addresses ? "address" : "int", false, 16}});
}

// `heaps`: a GrowableArray's address is at this variable.
uint64_t add_array(FakeProcess& process, uint64_t first_heap, size_t count, const char* base) {
  const uint64_t data = process.reserve(8 * count), array = process.reserve(32), variable = process.reserve(8);
  for (size_t i = 0; i < count; ++i) process.put(data + 8 * i, first_heap + 0x100 * i);
  process.put(array, static_cast<int32_t>(count));
  process.put(array + 8, kLibrary + data);
  process.put(variable, kLibrary + array);
  process.fields.insert(process.fields.end(), {{"CodeCache", "_heaps", "GrowableArray<CodeHeap*>*", true, kLibrary + variable},
                                               {base, "_len", "int", false, 0},
                                               {"GrowableArray<int>", "_data", "int*", false, 8}});
  return variable;
}

TEST(JavaMachine, HasThreeHeaps) {
  for (const bool relocated : {true, false}) {
    FakeProcess process;
    process.relocated = relocated;
    for (int i = 0; i < 500; ++i) process.fields.push_back({"Klass", "_field", "int", false, 8});  // none of ours
    const uint64_t variable = add_array(process, add_heaps(process, 3), 3, "GrowableArrayBase");
    add_blob(process, true, "int");
    const uint64_t interpreter = process.add_word(0x1234);
    process.fields.push_back({"AbstractInterpreter", "_code", "StubQueue*", true, kLibrary + interpreter});
    process.finish();
    const auto machine = JavaMachine::read(process.reader(), RuntimeAddr(kLibrary));
    ASSERT_TRUE(machine) << machine.error().message();
    EXPECT_LT(process.reads, 60u);  // each costs two switches to another process
    const auto code = machine->find_code(process.reader());
    ASSERT_TRUE(code);
    for (uint64_t i = 0; i < 3; ++i) {
      EXPECT_EQ(code->heaps[i].low, 0x1000 * (i + 1));
      EXPECT_EQ(code->heaps[i].high, 0x1000 * (i + 1) + 0x800);
      EXPECT_EQ(code->heaps[i].segments, 0x9000 + i);
    }
    EXPECT_EQ(code->heaps[3].segments, 0u);
    EXPECT_EQ(code->segment_shift, 7u);
    EXPECT_EQ(code->block_header_bytes, 16u);
    EXPECT_EQ(code->name.offset, 64);
    EXPECT_EQ(code->frame_size.offset, 44);
    EXPECT_EQ(code->frame_size.bytes, 4);
    EXPECT_EQ(code->frame_size.is_signed, 1);
    EXPECT_EQ(code->code_begin.offset, 16);
    EXPECT_EQ(code->code_begin.bytes, 8);
    EXPECT_EQ(code->frame_complete.bytes, 4);
    process.put(interpreter, uint64_t{0});  // others may still come
    EXPECT_FALSE(machine->find_code(process.reader()));
    process.put(interpreter, uint64_t{1});
    EXPECT_TRUE(machine->find_code(process.reader()));
    process.put(variable, uint64_t{0});  // the machine has only begun
    EXPECT_FALSE(machine->find_code(process.reader()));
  }
}

TEST(JavaMachine, HasOneHeapInVersion8) {
  FakeProcess process;
  const uint64_t heap = process.add_word(add_heaps(process, 1));
  process.fields.push_back({"CodeCache", "_heap", "CodeHeap*", true, kLibrary + heap});
  add_blob(process, false, "int");
  process.finish();
  const auto machine = JavaMachine::read(process.reader(), RuntimeAddr(kLibrary));
  ASSERT_TRUE(machine) << machine.error().message();
  const auto code = machine->find_code(process.reader());
  ASSERT_TRUE(code);
  EXPECT_EQ(code->heaps[0].low, 0x1000u);
  EXPECT_EQ(code->code_begin.bytes, 4);
}

TEST(JavaMachine, HasShorterNumbersInVersion25) {
  FakeProcess process;
  process.header_bytes = 8;
  add_array(process, add_heaps(process, 3), 3, "GrowableArrayBase");
  add_blob(process, false, "int16_t");
  process.finish();
  const auto machine = JavaMachine::read(process.reader(), RuntimeAddr(kLibrary));
  ASSERT_TRUE(machine) << machine.error().message();
  const auto code = machine->find_code(process.reader());
  ASSERT_TRUE(code);
  EXPECT_EQ(code->frame_complete.bytes, 2);
  EXPECT_EQ(code->frame_complete.is_signed, 1);
  EXPECT_EQ(code->block_header_bytes, 8u);
}

TEST(JavaMachine, SaysWhyItIsNone) {
  FakeProcess nothing;
  EXPECT_EQ(JavaMachine::read(nothing.reader(), RuntimeAddr(kLibrary)).error().kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(JavaMachine::read(nothing.reader(), RuntimeAddr(0x1000)).error().kind(), ErrorKind::kIo);
  FakeProcess other;  // tables without what is asked for
  other.fields.push_back({"CodeCache", "_heaps", "GrowableArray<CodeHeap*>*", true, kLibrary});
  other.finish();
  EXPECT_EQ(JavaMachine::read(other.reader(), RuntimeAddr(kLibrary)).error().kind(), ErrorKind::kCorrupt);
}

// Whatever a byte of its memory is: it ends, and what it answers is within bounds.
TEST(JavaMachine, BelievesNothing) {
  FakeProcess process;
  add_array(process, add_heaps(process, 3), 3, "GrowableArrayBase");
  add_blob(process, true, "int");
  process.finish();
  uint32_t random = 1;
  const auto read = process.reader();
  int accepted = 0;
  for (int round = 0; round < 300; ++round) {
    const ReadMemory torn = [&](RuntimeAddr address, std::span<uint8_t> to) {
      if (!read(address, to)) return false;
      for (int i = 0; i < 3; ++i) {
        random = random * 1664525 + 1013904223;
        if (!to.empty() && random >> 26 == 0) to[(random >> 8) % to.size()] = static_cast<uint8_t>(random >> 4);
      }
      return true;
    };
    const auto machine = JavaMachine::read(torn, RuntimeAddr(kLibrary));
    if (!machine) continue;
    const auto code = machine->find_code(torn);
    if (!code) continue;
    ++accepted;
    for (const java_code_heap& heap : code->heaps) EXPECT_LE(heap.high - heap.low, uint64_t{4} << 30);
    EXPECT_GE(code->segment_shift, 3u);
    EXPECT_LE(code->segment_shift, 20u);
    EXPECT_LE(code->block_header_bytes, 256u);
    for (const java_field field : {code->name, code->frame_size, code->code_begin, code->frame_complete}) EXPECT_TRUE(field.bytes >= 1 && field.bytes <= 8);
  }
  EXPECT_GT(accepted, 10);
}

}  // namespace
}  // namespace cicada::unwind
