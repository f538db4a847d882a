// SPDX-License-Identifier: Apache-2.0
// Landlock: what this thread, and what it starts, may never do again with files, ports, abstract sockets and signals. What is open stays open. A
// kernel that has an older Landlock forbids less: version 4 is the first with ports, 6 with signals and sockets.
#pragma once

namespace cicada::sandbox {

int landlock_version();  // 0: the kernel has none
enum class Files { kNone, kToRead };
// Nothing may be made, changed or removed, no port used, nobody outside signalled; kToRead: files and directories may still be opened to be read.
// True at once where the kernel has no Landlock. Needs no_new_privs, or CAP_SYS_ADMIN. False: errno says why.
bool apply_landlock(Files files);

}  // namespace cicada::sandbox
