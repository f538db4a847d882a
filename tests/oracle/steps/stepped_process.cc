// SPDX-License-Identifier: Apache-2.0
#include "stepped_process.h"

#include <capstone/capstone.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>

namespace cicada::oracle {
namespace {

struct Decoder {
  csh handle = 0;
  cs_insn* instruction = nullptr;
  Decoder() {
    if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle) == CS_ERR_OK) {
      cs_option(handle, CS_OPT_DETAIL, CS_OPT_ON);
      instruction = cs_malloc(handle);
    }
  }
  ~Decoder() {
    if (instruction != nullptr) cs_free(instruction, 1);
    if (handle != 0) cs_close(&handle);
  }
};

bool is_stack_pointer(const cs_x86_op& operand) { return operand.type == X86_OP_REG && (operand.reg == X86_REG_RSP || operand.reg == X86_REG_ESP); }

Kind kind_of(csh handle, const cs_insn& instruction) {
  if (cs_insn_group(handle, &instruction, X86_GRP_CALL)) return Kind::kCall;
  if (instruction.id == X86_INS_SYSCALL) return Kind::kSystemCall;
  const cs_x86& x86 = instruction.detail->x86;
  switch (instruction.id) {
    case X86_INS_MOV: case X86_INS_POP: case X86_INS_LEA: return x86.op_count != 0 && is_stack_pointer(x86.operands[0]) ? Kind::kSetsStack : Kind::kOther;
    case X86_INS_XCHG: return is_stack_pointer(x86.operands[0]) || is_stack_pointer(x86.operands[1]) ? Kind::kSetsStack : Kind::kOther;
    case X86_INS_LEAVE: return Kind::kSetsStack;
    default: return Kind::kOther;
  }
}

bool changes_mappings(uint64_t system_call) { return system_call == SYS_mmap || system_call == SYS_munmap || system_call == SYS_mprotect || system_call == SYS_mremap || system_call == SYS_execve; }

}  // namespace

Result<SteppedProcess> SteppedProcess::start(const std::vector<std::string>& command) {
  const pid_t pid = ::fork();
  if (pid < 0) return errno_error(errno, "fork");
  if (pid == 0) {
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::personality(ADDR_NO_RANDOMIZE);
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  SteppedProcess process(pid);
  int status = 0;
  if (!process.wait(status) || !WIFSTOPPED(status)) return make_error(ErrorKind::kNotFound, "{}: it cannot be run", command.front());
  ::ptrace(PTRACE_SETOPTIONS, pid, nullptr, PTRACE_O_EXITKILL);
  process.take_registers();
  return process;
}

SteppedProcess::~SteppedProcess() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, __WALL);
}

bool SteppedProcess::wait(int& status) {
  while (::waitpid(pid_, &status, __WALL) < 0)
    if (errno != EINTR) return false;
  if (!WIFEXITED(status) && !WIFSIGNALED(status)) return true;
  pid_ = -1;
  return false;
}

bool SteppedProcess::take_registers() { return ::ptrace(PTRACE_GETREGS, pid_, nullptr, &registers_) == 0; }

size_t SteppedProcess::read(uint64_t address, std::span<uint8_t> to) const {
  size_t done = 0;
  while (done < to.size()) {  // a page at a time at the end of a mapping
    iovec local{to.data() + done, to.size() - done}, remote{reinterpret_cast<void*>(address + done), to.size() - done};
    ssize_t size = ::process_vm_readv(pid_, &local, 1, &remote, 1, 0);
    if (size <= 0) {
      const size_t part = std::min<size_t>(to.size() - done, 4096 - (address + done) % 4096);
      local.iov_len = remote.iov_len = part;
      size = ::process_vm_readv(pid_, &local, 1, &remote, 1, 0);
    }
    if (size <= 0) break;
    done += static_cast<size_t>(size);
  }
  return done;
}

std::optional<uint64_t> SteppedProcess::read_word(uint64_t address) const {
  std::array<uint8_t, 8> bytes{};
  if (read(address, bytes) != bytes.size()) return std::nullopt;
  uint64_t word = 0;
  for (size_t i = bytes.size(); i-- > 0;) word = word << 8 | bytes[i];
  return word;
}

bool SteppedProcess::run_to(uint64_t address) {
  errno = 0;
  const long code = ::ptrace(PTRACE_PEEKTEXT, pid_, address, nullptr);
  if (code == -1 && errno != 0) return false;
  ::ptrace(PTRACE_POKETEXT, pid_, address, (code & ~0xffL) | 0xcc);
  int status = 0;
  for (int signal = 0;;) {
    ::ptrace(PTRACE_CONT, pid_, nullptr, signal);
    if (!wait(status)) return false;
    signal = WSTOPSIG(status);
    if (signal != SIGTRAP) continue;
    take_registers();
    if (registers_.rip == address + 1) break;
    signal = 0;
  }
  ::ptrace(PTRACE_POKETEXT, pid_, address, code);
  registers_.rip = address;
  return ::ptrace(PTRACE_SETREGS, pid_, nullptr, &registers_) == 0;
}

bool SteppedProcess::run_for(uint64_t ns) {
  ::ptrace(PTRACE_CONT, pid_, nullptr, std::exchange(signal_, 0));
  const timespec pause{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  ::nanosleep(&pause, nullptr);
  ::syscall(SYS_tgkill, pid_, pid_, SIGSTOP);
  for (int status = 0;;) {
    if (!wait(status)) return false;
    if (WSTOPSIG(status) == SIGSTOP) return take_registers();
    ::ptrace(PTRACE_CONT, pid_, nullptr, WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status));
  }
}

SteppedProcess::Decoded SteppedProcess::decode(uint64_t ip) {
  if (const auto found = decoded_.find(ip); found != decoded_.end()) return found->second;
  static Decoder decoder;
  std::array<uint8_t, 16> code{};
  size_t size = read(ip, code);
  const uint8_t* at = code.data();
  uint64_t address = ip;
  Decoded decoded{Kind::kOther, 0};
  if (decoder.instruction != nullptr && cs_disasm_iter(decoder.handle, &at, &size, &address, decoder.instruction))
    decoded = {kind_of(decoder.handle, *decoder.instruction), static_cast<uint8_t>(decoder.instruction->size)};
  return decoded_.emplace(ip, decoded).first->second;
}

SteppedProcess::Step SteppedProcess::step() {
  Step step;
  const Decoded decoded = decode(registers_.rip);
  const uint64_t system_call = registers_.rax, ip = registers_.rip, sp = registers_.rsp;
  const int delivered = std::exchange(signal_, 0);
  int status = 0;
  if (::ptrace(PTRACE_SINGLESTEP, pid_, nullptr, delivered) != 0 || !wait(status) || !take_registers()) {
    step.ended = true;
    return step;
  }
  if (WSTOPSIG(status) != SIGTRAP) signal_ = WSTOPSIG(status) == SIGSTOP ? 0 : WSTOPSIG(status);
  if (delivered != 0 && registers_.rip != ip && registers_.rsp != sp && registers_.rip != ip + decoded.length) {
    step.interrupted_ip = ip;
    step.interrupted_sp = sp;
    return step;
  }
  step.watched = Watched{decoded.kind, ip + decoded.length, sp, registers_.rip, registers_.rsp};
  if (decoded.kind == Kind::kSystemCall) {
    step.returned_from_handler = system_call == SYS_rt_sigreturn;
    step.changed_mappings = changes_mappings(system_call);
    if (step.changed_mappings) decoded_.clear();
  }
  return step;
}

}  // namespace cicada::oracle
