// SPDX-License-Identifier: Apache-2.0
// Rows for the code that the C runtime's start files (crti.o, crtbegin.o) bring into every image without CFI:
//  * `.init`, `.fini`: sub $8,%rsp (glibc) or push %rax (musl) … ret;
//  * deregister_tm_clones, register_tm_clones, __do_global_dtors_aux, frame_dummy at the begin of .text.
// Little runs there, but _init is the first code of a library that runs, and takes the page fault: in a loop of dlopen it was on 1.4 % of
// the stacks, each of which ended there.
#pragma once
#include <vector>

#include "base/byte_cursor.h"
#include "unwind/rows/code_rule.h"

namespace cicada::unwind {

// The whole of an .init or .fini section. Empty: it is written in another way.
std::vector<CodeRule> find_init_rules(Bytes section);

// crtbegin.o's functions somewhere in `code`, whose first byte is at an address that is `misalignment` modulo 16. Empty: not there.
std::vector<CodeRule> find_crtbegin_rules(Bytes code, uint64_t misalignment);

}  // namespace cicada::unwind
