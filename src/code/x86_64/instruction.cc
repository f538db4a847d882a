// SPDX-License-Identifier: Apache-2.0
//   [legacy prefixes] [REX | VEX | EVEX] opcode [ModRM [SIB] [displacement]] [immediate]
//
// Two tables of 256 entries say what follows an opcode of the first two maps; the other maps are uniform.
#include "code/x86_64/instruction.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace cicada::code {
namespace {

constexpr size_t kLongest = 15;
// That many bytes are read at most, whatever they say: prefixes up to the longest, then an opcode, ModRM, SIB, displacement and immediate.
constexpr size_t kReadable = kLongest + 4 + 1 + 1 + 4 + 8;
constexpr uint32_t kMostSaved = 16 << 10;

// What follows an opcode: M is ModRM; digits are bytes of immediate, z: four (two with 66), v: eight with REX.W or else like z,
// a: an absolute address of eight, g: z or 1 byte if ModRM.reg is 0 or 1 (test). x: not decoded.
constexpr uint8_t kModrm = 0x10, kUnknown = 0xff;
enum Immediate : uint8_t { kNone, kOne, kTwo, kThree, kFour, kOperand, kOperandOrEight, kAddress, kTestByte, kTestOperand };

constexpr std::array<uint8_t, 256> make_table(const char* text) {
  std::array<uint8_t, 256> table{};
  size_t n = 0;
  for (; *text != 0; ++text) {
    uint8_t entry = 0;
    switch (*text) {
      case ' ': continue;
      case 'x': entry = kUnknown; break;
      case '.': entry = kNone; break;
      case '1': entry = kOne; break;
      case '2': entry = kTwo; break;
      case '3': entry = kThree; break;
      case '4': entry = kFour; break;
      case 'z': entry = kOperand; break;
      case 'v': entry = kOperandOrEight; break;
      case 'a': entry = kAddress; break;
      case 'M': entry = kModrm; break;
      case 'b': entry = kModrm | kOne; break;
      case 'Z': entry = kModrm | kOperand; break;
      case 't': entry = kModrm | kTestByte; break;
      case 'T': entry = kModrm | kTestOperand; break;
      default: return {};
    }
    table[n++] = entry;
  }
  return table;
}

//                                                0123456789abcdef
constexpr auto kOneByte = make_table(/* 0 */ "MMMM1zxxMMMM1zx."
                                     /* 1 */ "MMMM1zxxMMMM1zxx"
                                     /* 2 */ "MMMM1z.xMMMM1z.x"
                                     /* 3 */ "MMMM1z.xMMMM1z.x"
                                     /* 4 */ "................"
                                     /* 5 */ "................"
                                     /* 6 */ "xxxM....zZ1b...."
                                     /* 7 */ "1111111111111111"
                                     /* 8 */ "bZxbMMMMMMMMMMMM"
                                     /* 9 */ "..........x....."
                                     /* a */ "aaaa....1z......"
                                     /* b */ "11111111vvvvvvvv"
                                     /* c */ "bb2.xxbZ3.2..1x."
                                     /* d */ "MMMMxxx.MMMMMMMM"
                                     /* e */ "1111111144x1...."
                                     /* f */ "......tT......MM");
constexpr auto kTwoBytes = make_table(/* 0 */ "MMMMx.x..." "x.x" "Mxx"
                                      /* 1 */ "MMMMMMMMMMMMMMMM"
                                      /* 2 */ "MMMMxxxxMMMMMMMM"
                                      /* 3 */ "......xxxxxxxxxx"
                                      /* 4 */ "MMMMMMMMMMMMMMMM"
                                      /* 5 */ "MMMMMMMMMMMMMMMM"
                                      /* 6 */ "MMMMMMMMMMMMMMMM"
                                      /* 7 */ "bbbbMMM.xxxxMMMM"
                                      /* 8 */ "4444444444444444"
                                      /* 9 */ "MMMMMMMMMMMMMMMM"
                                      /* a */ "...MbMxx...MbMMM"
                                      /* b */ "MMMMMMMMMMbMMMMM"
                                      /* c */ "MMbMbbbM........"
                                      /* d */ "MMMMMMMMMMMMMMMM"
                                      /* e */ "MMMMMMMMMMMMMMMM"
                                      /* f */ "MMMMMMMMMMMMMMMM");
static_assert(kOneByte[0xff] == kModrm && kTwoBytes[0xff] == kModrm, "256 entries each");

constexpr auto kPrefixes = [] {
  std::array<bool, 256> table{};
  for (const unsigned byte : {0x66U, 0x67U, 0xf0U, 0xf2U, 0xf3U, 0x2eU, 0x36U, 0x3eU, 0x26U, 0x64U, 0x65U}) table[byte] = true;
  return table;
}();

// Of memory that kReadable bytes can be read of.
class Reader {
 public:
  explicit Reader(const uint8_t* begin) : begin_(begin), at_(begin) {}
  uint8_t u8() { return *at_++; }
  int8_t s8() { return static_cast<int8_t>(u8()); }
  int16_t s16() { return read<int16_t>(); }
  int32_t s32() { return read<int32_t>(); }
  int64_t s64() { return read<int64_t>(); }
  void skip(size_t bytes) { at_ += bytes; }
  size_t position() const { return static_cast<size_t>(at_ - begin_); }

 private:
  template <typename T>
  T read() {
    T value;
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  const uint8_t* const begin_;
  const uint8_t* at_;
};

class Decoder {
 public:
  // `insn` is written in place: a copy right behind single bytes stored to it stalls, a twentieth of the time of libx265.
  Decoder(const uint8_t* code, size_t size, Instruction& insn) : at_(code), size_(std::min(size, kLongest)), insn_(insn) {}

  bool decode() {
    const uint8_t kind = read_opcode();
    if (kind == kUnknown) return false;
    if ((kind & kModrm) != 0) read_modrm();
    else insn_.reg = static_cast<uint8_t>((insn_.opcode & 7) | rex_b());
    read_immediate(static_cast<Immediate>(kind & 15));
    if (at_.position() > size_ || (insn_.is(0, 0x8f) && (insn_.reg & 7) != 0)) return false;  // the latter is AMD's XOP
    insn_.length = static_cast<uint8_t>(at_.position());
    return true;
  }

 private:
  uint8_t rex_b() const { return static_cast<uint8_t>((rex_ & 1) << 3); }

  uint8_t read_opcode() {
    uint8_t byte = at_.u8();
    for (; kPrefixes[byte] && at_.position() <= kLongest; byte = at_.u8()) {
      insn_.operand16 |= byte == 0x66;
      insn_.repeated |= (byte & 0xfe) == 0xf2;
    }
    if ((byte & 0xf0) == 0x40) {
      rex_ = byte;
      insn_.rex = true;
      byte = at_.u8();
    } else if (byte == 0xc5 || byte == 0xc4 || byte == 0x62) {
      return read_vex(byte);
    }
    insn_.wide = (rex_ & 8) != 0;
    insn_.opcode = byte;
    if (byte != 0x0f) return kOneByte[byte];
    insn_.map = 1;
    insn_.opcode = at_.u8();
    if (insn_.opcode != 0x38 && insn_.opcode != 0x3a) return kTwoBytes[insn_.opcode];
    insn_.map = insn_.opcode == 0x38 ? 2 : 3;
    insn_.opcode = at_.u8();
    return insn_.map == 2 ? kModrm : kModrm | kOne;
  }
  // R X B are inverted and where REX has them once the first byte is shifted.
  uint8_t read_vex(uint8_t first) {
    insn_.vex = true;
    is_evex_ = first == 0x62;
    insn_.map = 1;
    const uint8_t payload = at_.u8();
    rex_ = static_cast<uint8_t>(~payload >> 5 & 7);
    uint8_t length = payload >> 2 & 1, prefix = payload;
    if (first == 0xc5) {
      rex_ &= 4;
    } else {
      insn_.map = payload & (first == 0xc4 ? 31 : 15);
      const uint8_t second = at_.u8();
      prefix = second;
      insn_.wide = (second & 0x80) != 0;
      length = first == 0x62 ? at_.u8() >> 5 & 3 : second >> 2 & 1;
    }
    insn_.repeated = (prefix & 2) != 0;
    insn_.vector = static_cast<uint8_t>(16 << std::min<uint8_t>(length, 2));
    insn_.opcode = at_.u8();
    const bool known = insn_.map >= 1 && insn_.map <= 3;
    if (!known && !(first == 0x62 && (insn_.map == 5 || insn_.map == 6))) return kUnknown;
    if (insn_.map == 3) return kModrm | kOne;
    if (insn_.map != 1) return kModrm;
    if (insn_.opcode == 0x77 && first != 0x62) return kNone;  // vzeroupper
    const bool immediate = (insn_.opcode >= 0x70 && insn_.opcode <= 0x73) || insn_.opcode == 0xc2 || (insn_.opcode >= 0xc4 && insn_.opcode <= 0xc6);
    return immediate ? kModrm | kOne : kModrm;
  }

  void read_modrm() {
    const uint8_t modrm = at_.u8();
    insn_.has_modrm = true;
    insn_.mod = modrm >> 6;
    insn_.reg = static_cast<uint8_t>((modrm >> 3 & 7) | (rex_ & 4) << 1);
    const uint8_t low = modrm & 7;
    insn_.rm = static_cast<uint8_t>(low | rex_b());
    if (insn_.mod == 3) return;
    bool far = insn_.mod == 2;
    if (low == 4) {
      const uint8_t sib = at_.u8();
      insn_.rm = static_cast<uint8_t>((sib & 7) | rex_b());
      insn_.index = static_cast<uint8_t>((sib >> 3 & 7) | (rex_ & 2) << 2);
      insn_.scale = sib >> 6;
      insn_.indexed = insn_.index != kRsp;
      if (insn_.mod == 0 && (sib & 7) == 5) insn_.rm = kNoRegister, far = true;
    } else if (insn_.mod == 0 && low == 5) {
      insn_.rm = kRip, far = true;
    }
    insn_.scaled = is_evex_ && insn_.mod == 1;
    if (far) insn_.displacement = at_.s32();
    else if (insn_.mod == 1) insn_.displacement = at_.s8();
  }

  void read_immediate(Immediate kind) {
    if (kind == kTestByte || kind == kTestOperand) {
      if ((insn_.reg & 7) > 1) return;
      kind = kind == kTestByte ? kOne : kOperand;
    }
    if (kind == kOperandOrEight && insn_.wide) insn_.immediate = at_.s64();
    else if (kind == kOperand || kind == kOperandOrEight) insn_.immediate = insn_.operand16 && !insn_.wide ? at_.s16() : at_.s32();
    else if (kind == kFour) insn_.immediate = at_.s32();
    else if (kind == kOne) insn_.immediate = at_.s8();
    else if (kind == kTwo) insn_.immediate = at_.s16();
    else if (kind == kThree) at_.skip(3);
    else if (kind == kAddress) at_.skip(8);  // four with 67, which nobody writes
  }

  Reader at_;
  const size_t size_;
  uint8_t rex_ = 0;
  bool is_evex_ = false;
  Instruction& insn_;
};

constexpr bool between(uint8_t x, uint8_t low, uint8_t high) { return x >= low && x <= high; }

enum class Destination : uint8_t { kNowhere, kReg, kRm, kBoth };

Destination one_byte_destination(const Instruction& insn) {
  const uint8_t op = insn.opcode;
  if (op < 0x38 && (op & 7) < 4) return (op & 2) != 0 ? Destination::kReg : Destination::kRm;  // add … xor
  switch (op) {
    case 0x63: case 0x69: case 0x6b: case 0x8a: case 0x8b: case 0x8d: return Destination::kReg;
    case 0x80: case 0x81: case 0x83: return (insn.reg & 7) == 7 ? Destination::kNowhere : Destination::kRm;
    case 0x86: case 0x87: return Destination::kBoth;
    case 0x88: case 0x89: case 0x8c: case 0x8f: case 0xc0: case 0xc1: case 0xc6: case 0xc7: case 0xd0: case 0xd1: case 0xd2: case 0xd3:
      return Destination::kRm;
    case 0xf6: case 0xf7: return between(insn.reg & 7, 2, 3) ? Destination::kRm : Destination::kNowhere;
    case 0xfe: case 0xff: return (insn.reg & 7) < 2 ? Destination::kRm : Destination::kNowhere;
    case 0x90: return insn.is_nop() ? Destination::kNowhere : Destination::kReg;  // xchg %r8,%rax
    default: return between(op, 0x91, 0x97) || between(op, 0xb0, 0xbf) ? Destination::kReg : Destination::kNowhere;
  }
}

bool has_byte_operand(const Instruction& insn) {
  const uint8_t op = insn.opcode;
  if (insn.map == 1) return between(op, 0x90, 0x9f) || op == 0xb0 || op == 0xc0;
  if (insn.map != 0 || (op & 1) != 0) return insn.map == 0 && between(op, 0xb0, 0xb7);
  return op < 0x40 || op == 0x80 || op == 0x86 || op == 0x88 || op == 0x8a || between(op, 0xb0, 0xb7) || op == 0xc0 || op == 0xc6 || op == 0xd0 ||
         op == 0xd2 || op == 0xf6 || op == 0xfe;
}

// The second map; the same with VEX, but for masks.
constexpr Destination two_byte_destination(uint8_t op) {
  if (between(op, 0x40, 0x4f)) return Destination::kReg;  // cmov
  if (between(op, 0x90, 0x9f)) return Destination::kRm;   // set
  switch (op) {
    case 0x02: case 0x03: case 0x2c: case 0x2d: case 0x50: case 0xaf: case 0xb6: case 0xb7: case 0xb8: case 0xbc: case 0xbd: case 0xbe:
    case 0xbf: case 0xc5: case 0xd7: case 0x78: case 0x79: return Destination::kReg;
    case 0x7e: case 0xa4: case 0xa5: case 0xab: case 0xac: case 0xad: case 0xae: case 0xb0: case 0xb1: case 0xb3: case 0xba: case 0xbb: case 0xc7:
      return Destination::kRm;
    case 0xc0: case 0xc1: return Destination::kBoth;
    default: return between(op, 0xc8, 0xcf) ? Destination::kReg : Destination::kNowhere;  // bswap
  }
}

// Of the second map, what prefixes tell apart: movq between vectors, or from memory, has the opcode of movd; one converted number goes to a general register, several to a vector.
bool is_of_vectors(const Instruction& insn) {
  switch (insn.opcode) {
    case 0x7e: return insn.repeated;
    case 0x2c: case 0x2d: case 0x78: case 0x79: return !insn.repeated;
    default: return false;
  }
}

Destination destination(const Instruction& insn) {
  if (insn.map == 0) return one_byte_destination(insn);
  if (insn.map == 1 && insn.vex && (between(insn.opcode, 0x40, 0x4f) || between(insn.opcode, 0x90, 0x9f))) {
    return insn.opcode == 0x93 ? Destination::kReg : Destination::kNowhere;  // kmov to a general register; all others of masks
  }
  if (insn.map == 1 || insn.map == 5) return is_of_vectors(insn) ? Destination::kNowhere : two_byte_destination(insn.opcode);  // 5: half floats, which has more kinds of what 1 has
  if (insn.map == 2) return between(insn.opcode, 0xf0, 0xf7) ? Destination::kReg : Destination::kNowhere;  // movbe, crc32, BMI
  if (insn.map == 3 && between(insn.opcode, 0x14, 0x17)) return Destination::kRm;                          // pextr
  return insn.map == 3 && insn.opcode == 0xf0 ? Destination::kReg : Destination::kNowhere;                 // rorx
}

// By map and opcode: what destination() and writes_unsaid() say of some register.
constexpr auto kWritesGeneral = [] {
  std::array<std::array<bool, 256>, 8> table{};
  for (unsigned op = 0; op < 256; ++op) {
    table[0][op] = true;
    table[1][op] = table[5][op] = two_byte_destination(static_cast<uint8_t>(op)) != Destination::kNowhere;
    table[2][op] = op >= 0xf0 && op <= 0xf7;
    table[3][op] = (op >= 0x14 && op <= 0x17) || op == 0xf0 || (op >= 0x60 && op <= 0x63);
  }
  for (const unsigned op : {0x01, 0x05, 0x31, 0x32, 0x33, 0x34, 0xa2}) table[1][op] = true;
  return table;
}();

}  // namespace

bool Instruction::may_write_general() const { return kWritesGeneral[map & 7][opcode]; }

Flow Instruction::flow() const {
  if (vex || map > 1) return Flow::kNext;  // all but all of a codec
  if (map == 1) {
    if ((opcode & 0xf0) == 0x80) return Flow::kBranch;
    if (opcode == 0x0b || opcode == 0xff || opcode == 0xb9) return Flow::kTrap;
    return opcode == 0x07 || opcode == 0x35 ? Flow::kFar : Flow::kNext;
  }
  if ((opcode & 0xf0) == 0x70 || (opcode & 0xfc) == 0xe0) return Flow::kBranch;
  switch (opcode) {
    case 0xc2: case 0xc3: return Flow::kReturn;
    case 0xcc: case 0xf4: return Flow::kTrap;
    case 0xca: case 0xcb: case 0xcf: return Flow::kFar;
    case 0xe8: return Flow::kCall;
    case 0xe9: case 0xeb: return Flow::kJump;
    case 0xff: break;
    default: return Flow::kNext;
  }
  switch (reg & 7) {
    case 2: return Flow::kIndirectCall;
    case 4: return Flow::kIndirectJump;
    case 3: case 5: return Flow::kFar;
    default: return Flow::kNext;
  }
}

bool Instruction::is_prologue() const {
  const bool reserve = (is_group(0x83, 5) || is_group(0x81, 5)) && mod == 3 && rm == kRsp;
  return is_push() || reserve || is_branch_target();
}

bool Instruction::writes(GeneralRegister wanted) const {
  const Destination where = destination(*this);
  if (where == Destination::kNowhere) return false;
  if (!rex && !vex && wanted < kR8 && has_byte_operand(*this)) return wanted < kRsp && !(where == Destination::kRm && has_modrm && mod != 3);  // al … bl, ah … bh
  const bool into_reg = reg == wanted && where != Destination::kRm;
  const bool into_rm = has_modrm && mod == 3 && rm == wanted && where != Destination::kReg;
  return into_reg || into_rm;
}

uint32_t Instruction::stored_bytes() const {
  if (!has_modrm || mod == 3) return 0;
  if (map == 0) {
    const Destination where = one_byte_destination(*this);
    if (is(0, 0x8f)) return 16;  // pop: at the displacement from the stack pointer behind it
    return where == Destination::kRm || where == Destination::kBoth ? 8 : between(opcode, 0xd8, 0xdf) ? 128 : 0;
  }
  if (map == 1) {
    switch (opcode) {
      case 0x7e: return repeated ? 0 : vector;
      case 0x11: case 0x13: case 0x17: case 0x29: case 0x2b: case 0x7f: case 0xc3: case 0xd6: case 0xe7: return vector;
      case 0xae: case 0xc7: return kMostSaved;  // fxsave, xsave
      default: return two_byte_destination(opcode) == Destination::kRm || two_byte_destination(opcode) == Destination::kBoth ? 16 : 0;
    }
  }
  if (map == 2) return !vex ? (opcode == 0xf1 ? 8 : 0) : opcode == 0x2e || opcode == 0x2f || opcode == 0x8e || opcode == 0x8a || opcode == 0x8b || opcode == 0x63 || between(opcode, 0x10, 0x35) ? vector : 0;
  if (map == 3) return between(opcode, 0x14, 0x1d) || opcode == 0x39 || opcode == 0x3b ? vector : 0;
  return vector;
}

bool Instruction::writes_unsaid(GeneralRegister wanted) const {
  if (map == 3 && between(opcode, 0x60, 0x63)) return wanted == kRcx;  // pcmpestri
  if (vex) return wanted != kRsp && map == 2 && (opcode == 0xf3 || opcode == 0xf6);  // blsr and mulx: another operand
  if (map == 1 && (opcode == 0x05 || opcode == 0x34)) return wanted == kRcx || wanted == kR11;  // system calls
  const bool string = map == 0 && (between(opcode, 0xa4, 0xa7) || between(opcode, 0xaa, 0xaf) || between(opcode, 0x6c, 0x6f));
  switch (wanted) {
    case kRsi: case kRdi: return string;
    case kRcx: return string || (map == 0 && between(opcode, 0xe0, 0xe2)) || (map == 1 && (opcode == 0xa2 || opcode == 0x01));
    case kRbx: return map == 1 && opcode == 0xa2;
    case kRax: case kRdx: break;
    default: return false;
  }
  if (map == 1) return opcode == 0x01 || between(opcode, 0x31, 0x33) || opcode == 0xa2 || between(opcode, 0xb0, 0xb1) || opcode == 0xc7;
  if (map != 0) return false;
  const bool multiplies = (opcode & 0xfe) == 0xf6 && (reg & 7) >= 4;
  const bool accumulates = opcode < 0x38 && (between(opcode & 7, 4, 5));  // add $1,%eax
  return string || multiplies || accumulates || (opcode == 0x90 && !is_nop()) || between(opcode, 0x91, 0x99) || between(opcode, 0xa0, 0xa3) || opcode == 0xd7 || between(opcode, 0xe4, 0xe5) || between(opcode, 0xec, 0xed) || opcode == 0x9f;
}

std::optional<Instruction> decode_instruction(Bytes code) {
  std::optional<Instruction> insn(std::in_place);
  std::array<uint8_t, kReadable> last;
  const uint8_t* bytes = code.data();
  if (code.size() < kReadable) {
    std::copy(code.begin(), code.end(), last.begin());
    std::fill(last.begin() + static_cast<ptrdiff_t>(code.size()), last.end(), uint8_t{0});
    bytes = last.data();
  }
  if (!Decoder(bytes, code.size(), *insn).decode()) insn.reset();
  return insn;
}

void find_possible_calls(Bytes code, const std::function<void(int64_t target)>& found) {
  constexpr uint8_t kCall = 0xe8;
  constexpr size_t kLength = 5;
  size_t at = 0;
  while (code.size() - at >= kLength) {
    const auto* const call = static_cast<const uint8_t*>(std::memchr(code.data() + at, kCall, code.size() - at - (kLength - 1)));
    if (call == nullptr) return;
    at = static_cast<size_t>(call - code.data()) + 1;
    int32_t distance = 0;
    std::memcpy(&distance, call + 1, sizeof distance);
    found(static_cast<int64_t>(at + kLength - 1) + distance);
  }
}

}  // namespace cicada::code
