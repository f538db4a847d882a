# SPDX-License-Identifier: Apache-2.0
# Return addresses into these make a walk end in a known way.
	.text
# rdi: stack pointer, rsi: where to go. The frame pointer leads nowhere.
	.globl jump_with_stack
	.type jump_with_stack, @function
jump_with_stack:
	.cfi_startproc
	mov %rdi, %rsp
	mov $1, %ebp
	jmp *%rsi
	.cfi_endproc
	.size jump_with_stack, . - jump_with_stack

# CFA = **(rsp + 8): DWARF, but nothing a row can hold.
	.globl twice_return
	.type twice, @function
twice:
	.cfi_startproc
	.cfi_escape 0x0f, 0x04, 0x77, 0x08, 0x06, 0x06
	nop
twice_return:
	nop
	.cfi_endproc
	.size twice, . - twice

	.globl outermost_return
	.type outermost, @function
outermost:
	.cfi_startproc
	.cfi_undefined %rip
	nop
outermost_return:
	nop
	.cfi_endproc
	.size outermost, . - outermost

	.globl framed_return
	.type framed, @function
framed:
	.cfi_startproc
	.cfi_def_cfa_offset 64
	nop
framed_return:
	nop
	.cfi_endproc
	.size framed, . - framed

# No CFI, and too short for code that is walked by frame pointer.
	.globl no_rule_return
no_rule:
	.skip 20, 0x90
no_rule_return:
	.skip 20, 0x90

	.type between, @function
between:
	.cfi_startproc
	ret
	.cfi_endproc
	.size between, . - between

# No CFI, and long enough.
	.globl table_less_return
table_less:
	.skip 100, 0x90
table_less_return:
	.skip 100, 0x90

	.type after, @function
after:
	.cfi_startproc
	ret
	.cfi_endproc
	.size after, . - after
	.section .note.GNU-stack, "", @progbits
