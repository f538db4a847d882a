# SPDX-License-Identifier: Apache-2.0
# As much hand-written assembly as a codec's library has, without call-frame information: more than is read at once, so it is read in pieces. Three of its functions have
# names, far from each other; those between are called through a table, and rbp is data in all.
	.text

	# 2 KiB of a function that runs through its code twenty times.
	.macro BODY
	push %rbx
	push %rbp
	push %r12
	sub $0x58, %rsp
	mov $20, %ebp
1:	.rept 490
	imul $3, %r8, %r8
	.endr
	dec %ebp
	jnz 1b
	add $0x58, %rsp
	pop %r12
	pop %rbp
	pop %rbx
	ret
	.endm

	.macro NAMED name
	.p2align 4
	.globl \name
	.type \name, @function
\name:
	BODY
	.size \name, . - \name
	.endm

	.macro UNNAMED count
	.rept \count
	.p2align 4
	.pushsection .data.rel.ro, "aw"
	.quad 2f
	.popsection
2:	BODY
	.endr
	.endm

	.pushsection .data.rel.ro, "aw"
	.globl large_table
	.p2align 3
large_table:
	.popsection

	NAMED large_first
	UNNAMED 200
	NAMED large_middle
	UNNAMED 200
	NAMED large_last

	.pushsection .data.rel.ro, "aw"
	.globl large_table_end
large_table_end:
	.popsection
	.section .note.GNU-stack, "", @progbits
