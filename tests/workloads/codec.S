# SPDX-License-Identifier: Apache-2.0
# Hand-written assembly as codecs have it: no call-frame information, rbp is data, the old stack pointer is kept in a register or in memory while the new one is aligned,
# a function has several ends or shares another one's, and helpers leave alone what their callers keep or pop what they have pushed. Called through a table only.
	.text
	# Work that a sample can be in; rbp is a counter.
	.macro WORK turns
	mov $\turns, %ebp
1:	imul $3, %r8, %r8
	vpaddd %xmm1, %xmm2, %xmm1
	dec %ebp
	jnz 1b
	.endm

	.p2align 4
	.globl codec_pushes
	.type codec_pushes, @function
codec_pushes:
	push %rbx
	push %rbp
	push %r12
	sub $0x48, %rsp
	mov %rdi, %rbx
	test $1, %edi
	jnz 2f
	WORK 3000
	add $0x48, %rsp
	pop %r12
	pop %rbp
	pop %rbx
	ret
2:	WORK 2000
	lea (%rbx,%r8), %rax
	add $0x48, %rsp
	pop %r12
	pop %rbp
	pop %rbx
	vzeroupper
	ret

	# x264: nothing is pushed, rcx has the old stack pointer, a helper leaves it there.
	.p2align 4
	.globl codec_register
	.type codec_register, @function
codec_register:
	mov %rsp, %rcx
	and $-32, %rsp
	sub $0x60, %rsp
	call codec_helper
	mov $2000, %eax
3:	imul $5, %r8, %r8
	vmovdqa %ymm1, (%rsp)
	dec %eax
	jnz 3b
	mov %rcx, %rsp
	vzeroupper
	ret

	.p2align 4
	.globl codec_helper
	.type codec_helper, @function
codec_helper:
	mov $2000, %eax
4:	imul $7, %r8, %r8
	dec %eax
	jnz 4b
	ret

	# x265, OpenSSL: the old stack pointer lies on the new stack.
	.p2align 4
	.globl codec_memory
	.type codec_memory, @function
codec_memory:
	mov %rsp, %rax
	push %rbx
	push %rbp
	sub $0x88, %rsp
	and $-64, %rsp
	mov %rax, 0x40(%rsp)
	vmovdqu %ymm1, (%rsp)
	xor %eax, %eax
	WORK 2000
	call codec_helper
	mov 0x40(%rsp), %rsi
	mov -16(%rsi), %rbp
	mov -8(%rsi), %rbx
	lea (%rsi), %rsp
	vzeroupper
	ret

	# The end is codec_helper's.
	.p2align 4
	.globl codec_shared_end
	.type codec_shared_end, @function
codec_shared_end:
	mov $2000, %edx
5:	imul $9, %r8, %r8
	dec %edx
	jnz 5b
	mov $1000, %eax
	jmp 4b

	# V8's builtins: the callee pops what the caller has pushed for it, so that only the frame pointer says where the caller's frame is.
	.p2align 4
	.globl codec_popped_for
	.type codec_popped_for, @function
codec_popped_for:
	push %rbp
	mov %rsp, %rbp
	sub $0x20, %rsp
	push $3
	push $4
	call codec_pops
	mov $2000, %eax
6:	imul $11, %r8, %r8
	dec %eax
	jnz 6b
	leave
	ret

	.p2align 4
	.globl codec_pops
	.type codec_pops, @function
codec_pops:
	push %rbp
	mov %rsp, %rbp
	mov $2000, %eax
7:	imul $13, %r8, %r8
	dec %eax
	jnz 7b
	pop %rbp
	ret $16

	# dav1d: what goes on behind a helper is told by a register, lies behind other code, and is entered by the name of nothing.
	.p2align 4
	.globl codec_continues
	.type codec_continues, @function
codec_continues:
	lea 9f(%rip), %r9
	sub $0x78, %rsp
	call codec_inner
	mov $1000, %eax
8:	imul $15, %r8, %r8
	dec %eax
	jnz 8b
	jmp *%r9

	.p2align 4
	.globl codec_inner
	.type codec_inner, @function
codec_inner:
	mov $1000, %eax
1:	imul $17, %r8, %r8
	dec %eax
	jnz 1b
	ret
9:	call codec_helper
	mov $1000, %eax
1:	imul $19, %r8, %r8
	dec %eax
	jnz 1b
	add $0x78, %rsp
	ret

	.section .data.rel.ro, "aw"
	.globl codec_table
codec_table:
	.quad codec_pushes, codec_register, codec_memory, codec_shared_end, codec_popped_for, codec_continues
	.section .note.GNU-stack, "", @progbits
