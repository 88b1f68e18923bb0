/*
 * A ptrace(2) by which user-mode Linux 6.1 runs on processors with AMX.
 *
 * User-mode Linux sets the extended state of the processes that it traces by the first 2696 bytes, which end with AVX-512
 * and PKRU. The kernel takes only the whole state, 11008 bytes with AMX, and fails otherwise (EFAULT). What follows the
 * first part stays here as it is in the process: tiles, which no guest uses. Where there is no more state, and for all other
 * requests, nothing is changed. One thread traces, so the buffer is used once at a time.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

typedef long ptrace_function(enum __ptrace_request request, pid_t pid, void *address, void *data);

long ptrace(enum __ptrace_request request, ...)
{
    static ptrace_function *next;
    static char whole_state[1 << 16];
    va_list rest;

    va_start(rest, request);
    pid_t pid = va_arg(rest, pid_t);
    void *address = va_arg(rest, void *);
    void *data = va_arg(rest, void *);
    va_end(rest);

    if (!next)
        next = (ptrace_function *)dlsym(RTLD_NEXT, "ptrace");
    if (request == PTRACE_SETREGSET && (long)address == NT_X86_XSTATE) {
        struct iovec *part = data;
        struct iovec whole = {whole_state, sizeof whole_state};
        if (next(PTRACE_GETREGSET, pid, address, &whole) == 0 && part->iov_len < whole.iov_len) {
            memcpy(whole_state, part->iov_base, part->iov_len);
            return next(request, pid, address, &whole);
        }
    }
    return next(request, pid, address, data);
}
