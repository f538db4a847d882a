// SPDX-License-Identifier: Apache-2.0
#include "own_process.h"

#include <link.h>
#include <sys/uio.h>
#include <unistd.h>

#include "elf/elf_file.h"
#include "unwind/row_compiler.h"
#include "unwind/rows/table_layout.h"

namespace cicada {
namespace {

constexpr uint64_t kPage = 4096;

struct Object {
  std::string path;
  uint64_t bias;
  uint64_t begin, end;  // of its executable segment
};

int collect(dl_phdr_info* info, size_t, void* out) {
  Object object{info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe", info->dlpi_addr, 0, 0};
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
    object.begin = (object.bias + segment.p_vaddr) & ~(kPage - 1);
    object.end = (object.bias + segment.p_vaddr + segment.p_memsz + kPage - 1) & ~(kPage - 1);
  }
  if (object.end != 0 && object.path[0] == '/') static_cast<std::vector<Object>*>(out)->push_back(object);
  return 0;
}

}  // namespace

OwnProcess::OwnProcess() : places(HOST_PLACES) {
  std::vector<Object> objects;
  dl_iterate_phdr(collect, &objects);
  for (const Object& object : objects) {
    const auto image = static_cast<uint32_t>(mappings.size() + 1);
    if (image >= HOST_PLACES) break;
    auto elf = elf::ElfFile::open(object.path);
    if (!elf) continue;
    const auto rows = unwind::compile_rows(*elf);
    if (!rows) continue;
    const auto layout = unwind::TableLayout::plan(*rows, 0);
    HostSlab& slab = tables_[image];
    slab.words.resize(((layout.size_bytes() + UNWIND_CHUNK_BYTES - 1) & ~uint64_t{UNWIND_CHUNK_BYTES - 1}) / 4);
    layout.write(*rows, image, {reinterpret_cast<uint8_t*>(slab.words.data()), slab.words.size() * 4}, places[image]);
    places[image].image = image;
    places[image].slab = static_cast<uint16_t>(image);
    places[image].flags |= UNWIND_PLACE_LOADED;
    mappings.push_back({object.begin, object.end, object.bias, image, 0});
  }
  slabs_.resize(HOST_PLACES);
  for (const auto& [number, slab] : tables_) slabs_[number] = {slab.bytes(), slab.words.size() * 4};
  world_ = {this, find_mapping, read_user, places.data(), slabs_.data(), HOST_PLACES};
}

uint32_t OwnProcess::image_of(uint64_t address, uint64_t* link) const {
  for (const mapping_value& mapping : mappings) {
    if (address < mapping.begin || address >= mapping.end) continue;
    *link = address - mapping.bias;
    return mapping.image;
  }
  return 0;
}

const mapping_value* OwnProcess::find_mapping(void* owner, __u32 address_space, __u64 address) {
  const auto* self = static_cast<const OwnProcess*>(owner);
  if (address_space != kSpace) return nullptr;
  for (const mapping_value& mapping : self->mappings) {
    if (address >= mapping.begin && address < mapping.end) return &mapping;
  }
  // A trie block covers more than its mapping: the walk has to check.
  return self->mappings.empty() ? nullptr : &self->mappings.front();
}

int OwnProcess::read_user(void* owner, void* to, __u32 size, __u64 address) {
  ++static_cast<OwnProcess*>(owner)->reads;
  const iovec local{to, size}, remote{reinterpret_cast<void*>(address), size};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size) ? 0 : -1;
}

}  // namespace cicada
