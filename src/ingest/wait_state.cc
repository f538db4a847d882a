// SPDX-License-Identifier: Apache-2.0
#include "ingest/wait_state.h"

#include <sys/syscall.h>

#include "profile/tables.h"

namespace cicada::ingest {
namespace {

std::string_view state_in(uint16_t system_call) {
  switch (system_call) {
    case SYS_futex:
    case SYS_futex_waitv:
    case SYS_flock:
    case SYS_fcntl:
    case SYS_semop:
    case SYS_semtimedop: return "lock";
    case SYS_nanosleep:
    case SYS_clock_nanosleep: return "sleep";
    case SYS_poll:
    case SYS_ppoll:
    case SYS_select:
    case SYS_pselect6:
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
    case SYS_io_uring_enter:
    case SYS_io_getevents:
    case SYS_io_pgetevents:
    case SYS_read:
    case SYS_readv:
    case SYS_pread64:
    case SYS_preadv:
    case SYS_preadv2:
    case SYS_write:
    case SYS_writev:
    case SYS_pwrite64:
    case SYS_pwritev:
    case SYS_pwritev2:
    case SYS_sendfile:
    case SYS_splice:
    case SYS_tee:
    case SYS_vmsplice:
    case SYS_copy_file_range:
    case SYS_open:
    case SYS_openat:
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_mq_timedreceive:
    case SYS_mq_timedsend:
    case SYS_msgrcv:
    case SYS_msgsnd: return "io";
    default: return "other";
  }
}

}  // namespace

std::string_view wait_state(const sample_record& sample) {
  switch (sample.wait) {
    case WAIT_NONE: return "";
    case WAIT_PREEMPTED: return sample.system_call == SYS_sched_yield ? profile::kRunnableState : profile::kPreemptedState;
    case WAIT_RUNNABLE: return profile::kRunnableState;
    case WAIT_STOPPED: return "stopped";
    default: break;
  }
  if (sample.system_call == NO_SYSTEM_CALL && sample.wait != WAIT_SLEEPING) return "page fault";
  if (sample.wait == WAIT_DISK) return sample.system_call == SYS_io_uring_enter ? "io" : "disk";  // for its sockets, too, it says iowait
  if (sample.system_call == NO_SYSTEM_CALL || sample.system_call == NO_USER_SIDE || (sample.flags & SAMPLE_32_BIT) != 0) return "other";  // other numbers
  const std::string_view state = state_in(sample.system_call);
  // What cannot be interrupted is no pipe, and no sleep: it is a lock of the kernel's, or a file system's.
  return sample.wait == WAIT_UNINTERRUPTIBLE && (state == "io" || state == "sleep") ? "other" : state;
}

}  // namespace cicada::ingest
