// SPDX-License-Identifier: Apache-2.0
// Which instructions leave a function: its code is decoded from begin to end. The targets of direct jumps are known. Those of indirect jumps are not, and each of
// these may leave it, but for the ones that compilers make of `switch`:
//
//   notrack jmp …                            a table of the compiler's: no landing pad is wanted at its targets
//   movslq (%base,%index,4),%offset          a table of distances from itself to places in the function
//   add    %base,%offset
//   jmp    *%offset
//
//   jmp    *table(,%index,8)                 a table of addresses, where the program is not moved when it is loaded, the table cannot be written, and its first address
//                                            is in the function. A table of functions, one of which is called last, has their begins
#include "parser/instructions.h"

#include <capstone/capstone.h>

#include <algorithm>
#include <bitset>
#include <cstring>
#include <optional>
#include <vector>

namespace cicada::parser {
namespace {

using symbolize::FunctionCode;
using symbolize::FunctionReturns;

constexpr size_t kMostBetween = 16;  // instructions from the load of a distance to the jump
constexpr uint8_t kNoTrack = 0x3e;

using Registers = std::bitset<X86_REG_ENDING>;

class Decoder {
 public:
  explicit Decoder(bool with_details) {
    if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle_) != CS_ERR_OK) return;
    if (with_details) cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON);
    instruction_ = cs_malloc(handle_);
  }
  ~Decoder() {
    if (instruction_ != nullptr) cs_free(instruction_, 1);
    if (handle_ != 0) cs_close(&handle_);
  }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  // Takes one instruction off the front of `code`, and goes on to the address behind it. Null: there is none. It is good until the next call.
  const cs_insn* next(std::span<const uint8_t>& code, uint64_t& address) {
    const uint8_t* at = code.data();
    size_t left = code.size();
    if (instruction_ == nullptr || !cs_disasm_iter(handle_, &at, &left, &address, instruction_)) return nullptr;
    code = code.last(left);
    return instruction_;
  }
  bool is_in_group(uint8_t group) const { return cs_insn_group(handle_, instruction_, group); }
  // Registers that the instruction writes; of a part of one, the whole.
  Registers written() const;

 private:
  csh handle_ = 0;
  cs_insn* instruction_ = nullptr;
};

// The 64 bits that a register is in.
x86_reg whole(unsigned reg) {
  if (reg >= X86_REG_R8B && reg <= X86_REG_R15B) return static_cast<x86_reg>(X86_REG_R8 + (reg - X86_REG_R8B));
  if (reg >= X86_REG_R8D && reg <= X86_REG_R15D) return static_cast<x86_reg>(X86_REG_R8 + (reg - X86_REG_R8D));
  if (reg >= X86_REG_R8W && reg <= X86_REG_R15W) return static_cast<x86_reg>(X86_REG_R8 + (reg - X86_REG_R8W));
  switch (reg) {
    case X86_REG_AL: case X86_REG_AH: case X86_REG_AX: case X86_REG_EAX: return X86_REG_RAX;
    case X86_REG_BL: case X86_REG_BH: case X86_REG_BX: case X86_REG_EBX: return X86_REG_RBX;
    case X86_REG_CL: case X86_REG_CH: case X86_REG_CX: case X86_REG_ECX: return X86_REG_RCX;
    case X86_REG_DL: case X86_REG_DH: case X86_REG_DX: case X86_REG_EDX: return X86_REG_RDX;
    case X86_REG_SIL: case X86_REG_SI: case X86_REG_ESI: return X86_REG_RSI;
    case X86_REG_DIL: case X86_REG_DI: case X86_REG_EDI: return X86_REG_RDI;
    case X86_REG_BPL: case X86_REG_BP: case X86_REG_EBP: return X86_REG_RBP;
    case X86_REG_SPL: case X86_REG_SP: case X86_REG_ESP: return X86_REG_RSP;
    default: return static_cast<x86_reg>(reg);
  }
}

Registers Decoder::written() const {
  cs_regs read{}, wrote{};
  uint8_t reads = 0, writes = 0;
  Registers all;
  if (cs_regs_access(handle_, instruction_, read, &reads, wrote, &writes) != CS_ERR_OK) return all.set();
  for (uint8_t i = 0; i < writes; ++i) all.set(whole(wrote[i]));
  return all;
}

// What is known of an instruction that a jump may depend on.
struct Step {
  uint64_t address = 0;
  enum class Is { kOther, kDistance, kSum } is = Is::kOther;
  x86_reg to = X86_REG_INVALID, from = X86_REG_INVALID;  // kDistance: loaded from a table at `from`
  Registers written = {};
  bool writes(x86_reg reg) const { return written.test(reg); }
};

Step step_of(const Decoder& decoder, const cs_insn& instruction) {
  Step step{.address = instruction.address, .written = decoder.written()};
  const cs_x86& x86 = instruction.detail->x86;
  if (x86.op_count != 2 || x86.operands[0].type != X86_OP_REG) return step;
  const cs_x86_op& from = x86.operands[1];
  step.to = x86.operands[0].reg;
  if (instruction.id == X86_INS_ADD && from.type == X86_OP_REG) {
    step.from = from.reg;
    step.is = Step::Is::kSum;
  } else if (instruction.id == X86_INS_MOVSXD && from.type == X86_OP_MEM && from.mem.segment == X86_REG_INVALID && from.mem.scale == 4 && from.mem.disp == 0 &&
             from.mem.index != X86_REG_INVALID && from.mem.base != X86_REG_INVALID) {
    step.from = from.mem.base;
    step.is = Step::Is::kDistance;
  }
  return step;
}

// Where the load of the distance is, if `steps`, which are followed by a jump to what `target` has, make it a table's.
std::optional<uint64_t> find_table(std::span<const Step> steps, x86_reg target) {
  const auto before = [&](size_t end, auto&& wanted) {
    while (end != 0 && !wanted(steps[end - 1])) --end;
    return end;
  };
  const size_t sum = before(steps.size(), [&](const Step& step) { return step.writes(target); });
  if (sum == 0 || steps[sum - 1].is != Step::Is::kSum || steps[sum - 1].to != target) return std::nullopt;
  const x86_reg other = steps[sum - 1].from;
  const size_t load = before(sum - 1, [&](const Step& step) { return step.writes(target) || step.writes(other); });
  if (load == 0 || steps[load - 1].is != Step::Is::kDistance) return std::nullopt;
  const Step& table = steps[load - 1];
  const bool fits = (table.to == target && table.from == other) || (table.to == other && table.from == target);
  return fits && target != other ? std::optional(table.address) : std::nullopt;
}

// One part of a function, or all of it.
struct Part {
  uint64_t begin = 0, end = 0;
  bool has(uint64_t address) const { return address >= begin && address < end; }
};

class ReturnSearch {
 public:
  ReturnSearch(std::span<const uint8_t> file, const FunctionCode& function, const elf::ElfFile* image) : file_(file), image_(image) {
    for (const auto& [begin, bytes] : {std::pair(function.begin.value, function.bytes), std::pair(function.cold_begin.value, function.cold_bytes)})
      if (bytes != 0) parts_.push_back({begin, begin + bytes});
  }

  FunctionReturns find() {
    if (std::all_of(parts_.begin(), parts_.end(), [&](const Part& part) { return decode(part); }) && returns_.size() <= symbolize::kMaxReturns && jumps_to_instructions()) {
      std::sort(returns_.begin(), returns_.end());
      returns_.erase(std::unique(returns_.begin(), returns_.end()), returns_.end());
      return {std::move(returns_), leaves_};
    }
    return {{}, true};
  }

 private:
  // False: that is no code, or not all of it.
  bool decode(const Part& part) {
    std::span<const uint8_t> code = file_.subspan(part.begin, part.end - part.begin);
    uint64_t address = part.begin;
    bool goes_on = true;
    steps_.clear();
    while (!code.empty()) {
      const cs_insn* instruction = decoder_.next(code, address);
      if (instruction == nullptr) return false;
      begins_.push_back(instruction->address);
      if (instruction->id != X86_INS_NOP) goes_on = take(*instruction);
    }
    if (goes_on) leaves_ = true;
    return true;
  }

  // Whether the next instruction follows it.
  bool take(const cs_insn& instruction) {
    switch (instruction.id) {
      case X86_INS_RET:
        returns_.emplace_back(instruction.address);
        steps_.clear();
        return false;
      case X86_INS_RETF:
      case X86_INS_RETFQ:
      case X86_INS_IRET:
      case X86_INS_IRETD:
      case X86_INS_IRETQ:
      case X86_INS_LJMP:
        leaves_ = true;
        steps_.clear();
        return false;
      case X86_INS_UD0:
      case X86_INS_UD2:
      case X86_INS_UD2B:
      case X86_INS_HLT:
      case X86_INS_INT3: return false;
      // Who is called need not return. If it does, the next instruction may find other registers.
      case X86_INS_CALL: steps_.clear(); return false;
      case X86_INS_LOOP:
      case X86_INS_LOOPE:
      case X86_INS_LOOPNE: jump(instruction); return true;
      default: break;
    }
    if (decoder_.is_in_group(X86_GRP_JUMP)) {
      jump(instruction);
      return instruction.id != X86_INS_JMP;
    }
    if (steps_.size() == kMostBetween) steps_.erase(steps_.begin());
    steps_.push_back(step_of(decoder_, instruction));
    return true;
  }

  void jump(const cs_insn& instruction) {
    const cs_x86& x86 = instruction.detail->x86;
    const cs_x86_op& to = x86.operands[0];
    if (x86.op_count == 1 && to.type == X86_OP_IMM) {
      targets_.push_back(static_cast<uint64_t>(to.imm));
    } else if (x86.prefix[1] != kNoTrack) {
      const std::optional<uint64_t> load = x86.op_count == 1 && to.type == X86_OP_REG ? find_table(steps_, to.reg) : std::nullopt;
      if (load) tables_.push_back({*load + 1, instruction.address + 1});
      else if (const auto first = x86.op_count == 1 && to.type == X86_OP_MEM ? first_of_table(to.mem) : std::nullopt) targets_.push_back(*first);
      else leaves_ = true;
    }
    steps_.clear();
  }

  // Where in the file a table of addresses begins to lead to, if it is one of a switch.
  std::optional<uint64_t> first_of_table(const x86_op_mem& table) const {
    const bool is_table = table.segment == X86_REG_INVALID && table.base == X86_REG_INVALID && table.index != X86_REG_INVALID && table.scale == 8;
    if (!is_table || image_ == nullptr || image_->type() != ET_EXEC) return std::nullopt;
    const elf::Segment *code = nullptr, *constants = nullptr;
    const auto address = static_cast<uint64_t>(table.disp);
    for (const elf::Segment& segment : image_->segments()) {
      if (segment.type != PT_LOAD) continue;
      if (parts_.front().begin - segment.offset.value < segment.file_size) code = &segment;
      if ((segment.flags & PF_W) == 0 && address - segment.address.value < segment.file_size) constants = &segment;
    }
    const std::span<const uint8_t> contents = constants == nullptr ? std::span<const uint8_t>() : image_->contents_at(LinkAddr(address));
    uint64_t first = 0;
    if (code == nullptr || contents.size() < sizeof first) return std::nullopt;
    std::memcpy(&first, contents.data(), sizeof first);
    const uint64_t offset = first - code->address.value + code->offset.value;
    const bool is_inside = offset != parts_.front().begin && std::any_of(parts_.begin(), parts_.end(), [&](const Part& part) { return part.has(offset); });
    return is_inside ? std::optional(offset) : std::nullopt;
  }

  // Takes those to elsewhere for leaving. False: one goes into the middle of an instruction, so that other code is run than was decoded.
  bool jumps_to_instructions() {
    std::sort(begins_.begin(), begins_.end());
    for (const uint64_t target : targets_) {
      if (std::none_of(parts_.begin(), parts_.end(), [&](const Part& part) { return part.has(target); })) leaves_ = true;
      else if (!std::binary_search(begins_.begin(), begins_.end(), target)) return false;
    }
    // Who jumps between load and jump brings a target of his own.
    std::sort(targets_.begin(), targets_.end());
    for (const Part& table : tables_) {
      const auto target = std::lower_bound(targets_.begin(), targets_.end(), table.begin);
      if (target != targets_.end() && table.has(*target)) leaves_ = true;
    }
    return true;
  }

  const std::span<const uint8_t> file_;
  const elf::ElfFile* const image_;
  Decoder decoder_{true};
  std::vector<Part> parts_, tables_;  // of a table: from behind its load to the jump
  std::vector<Step> steps_;           // that lead to where it is, without a jump or a call between
  std::vector<uint64_t> begins_, targets_;
  std::vector<FileOffset> returns_;
  bool leaves_ = false;
};

bool is_in_file(std::span<const uint8_t> file, FileOffset begin, uint64_t bytes) { return begin.value <= file.size() && bytes <= file.size() - begin.value; }

}  // namespace

bool begins_instruction(std::span<const uint8_t> code, uint64_t offset) {
  Decoder decoder(false);
  uint64_t address = 0;
  while (address < offset && decoder.next(code, address) != nullptr) continue;
  return address == offset && decoder.next(code, address) != nullptr;
}

FunctionReturns find_returns(std::span<const uint8_t> file, const FunctionCode& function, const elf::ElfFile* image) {
  const bool is_known = function.bytes != 0 && function.bytes <= symbolize::kMaxCodeBytes && function.cold_bytes <= symbolize::kMaxCodeBytes;
  if (!is_known || !is_in_file(file, function.begin, function.bytes) || !is_in_file(file, function.cold_begin, function.cold_bytes)) return {{}, true};
  return ReturnSearch(file, function, image).find();
}

}  // namespace cicada::parser
