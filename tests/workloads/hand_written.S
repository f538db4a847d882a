# SPDX-License-Identifier: Apache-2.0
# As OpenSSL's assembly does it: the old stack pointer in a callee-saved register, the new one aligned, and the CFA found
# through a slot on the new stack.
	.text
	.globl hand_written
	.type hand_written, @function
hand_written:
	.cfi_startproc
	mov %rsp, %rax
	.cfi_def_cfa_register %rax
	push %rbx
	.cfi_offset %rbx, -16
	push %r12
	.cfi_offset %r12, -24
	sub $0x88, %rsp
	and $-64, %rsp
	mov %rax, 0x40(%rsp)
	# CFA = *(rsp + 0x40) + 8
	.cfi_escape 0x0f, 0x06, 0x77, 0xc0, 0x00, 0x06, 0x23, 0x08
	call *%rdi
	mov 0x40(%rsp), %rsi
	.cfi_def_cfa %rsi, 8
	mov -16(%rsi), %r12
	mov -8(%rsi), %rbx
	lea (%rsi), %rsp
	.cfi_def_cfa_register %rsp
	ret
	.cfi_endproc
	.size hand_written, . - hand_written
	.section .note.GNU-stack, "", @progbits
