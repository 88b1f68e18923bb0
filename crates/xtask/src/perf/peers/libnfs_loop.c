/* The least that reads and writes over NFSv3 can cost with libnfs: a loop that keeps so many requests in flight.
 *
 * libnfs_loop URL read|write BLOCK_BYTES DEPTH SECONDS FILE_BYTES
 *
 * URL is nfs://HOST/EXPORT/FILE?version=3&nfsport=N&mountport=N. The file is created with FILE_BYTES bytes first. Then
 * random blocks are read, or written UNSTABLE, for SECONDS seconds after 0.3 s of warm-up. Prints {"ops_per_s":...}.
 * Latencies, histograms and counts by procedure are what the loop leaves out.
 *
 * Built by `cargo xtask perf protocols`: cc -O2 libnfs_loop.c -lnfs
 */
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <nfsc/libnfs.h>

static struct nfs_context *nfs;
static struct nfsfh *file;
static uint64_t block_bytes, block_count, done_count, in_flight, state = 0x9e3779b97f4a7c15;
static int writes, ends, failed;

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static int fail(const char *what)
{
    fprintf(stderr, "libnfs_loop: %s: %s\n", what, nfs_get_error(nfs));
    return 1;
}

struct request {
    char *block;
};

static void issue(struct request *request);

static void completed(int status, struct nfs_context *context, void *data, void *private_data)
{
    (void)context;
    (void)data;
    in_flight--;
    if (status != (int)block_bytes) {
        failed = 1;
        return;
    }
    done_count++;
    if (!ends)
        issue(private_data);
}

static void issue(struct request *request)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    uint64_t offset = state % block_count * block_bytes;
#ifdef LIBNFS_API_V2
    int refused = writes
        ? nfs_pwrite_async(nfs, file, request->block, block_bytes, offset, completed, request)
        : nfs_pread_async(nfs, file, request->block, block_bytes, offset, completed, request);
#else
    int refused = writes ? nfs_pwrite_async(nfs, file, offset, block_bytes, request->block, completed, request)
                         : nfs_pread_async(nfs, file, offset, block_bytes, completed, request);
#endif
    if (refused)
        failed = 1;
    else
        in_flight++;
}

static int serve_once(void)
{
    struct pollfd descriptor = { .fd = nfs_get_fd(nfs), .events = (short)nfs_which_events(nfs) };
    if (poll(&descriptor, 1, 1000) < 0 || nfs_service(nfs, descriptor.revents) < 0)
        return fail("wait for replies");
    return failed ? fail("a request") : 0;
}

static int fill(uint64_t file_bytes)
{
    const uint64_t part = 1 << 20;
    char *bytes = malloc(part);
    if (bytes == NULL)
        return fail("memory");
    memset(bytes, 0x5a, part);
    for (uint64_t at = 0; at < file_bytes; at += part) {
#ifdef LIBNFS_API_V2
        int wrote = nfs_pwrite(nfs, file, bytes, part, at);
#else
        int wrote = nfs_pwrite(nfs, file, at, part, bytes);
#endif
        if (wrote != (int)part)
            return fail("fill the file");
    }
    free(bytes);
    return nfs_fsync(nfs, file) ? fail("sync the file") : 0;
}

int main(int count, char **words)
{
    if (count != 7) {
        fprintf(stderr, "usage: libnfs_loop URL read|write BLOCK_BYTES DEPTH SECONDS FILE_BYTES\n");
        return 2;
    }
    writes = strcmp(words[2], "write") == 0;
    block_bytes = strtoull(words[3], NULL, 10);
    uint64_t depth = strtoull(words[4], NULL, 10), seconds = strtoull(words[5], NULL, 10);
    uint64_t file_bytes = strtoull(words[6], NULL, 10);
    nfs = nfs_init_context();
    struct nfs_url *url = nfs ? nfs_parse_url_full(nfs, words[1]) : NULL;
    if (url == NULL || block_bytes == 0 || depth == 0 || file_bytes < block_bytes)
        return fail("the arguments");
    if (nfs_mount(nfs, url->server, url->path))
        return fail("mount");
    if (nfs_open2(nfs, url->file, O_RDWR | O_CREAT, 0600, &file) || fill(file_bytes))
        return fail("create the file");
    block_count = file_bytes / block_bytes;
    struct request *requests = calloc(depth, sizeof *requests);
    for (uint64_t index = 0; requests && index < depth; index++) {
        /* Memory that was never written is one page of zeroes for all blocks, which the processor's cache has. */
        requests[index].block = malloc(block_bytes);
        if (requests[index].block == NULL)
            return fail("memory");
        memset(requests[index].block, (int)index + 1, block_bytes);
        issue(&requests[index]);
    }
    uint64_t began_ns = now_ns() + 300000000, until_ns = began_ns + seconds * 1000000000, before = 0;
    int measures = 0;
    for (uint64_t at_ns = now_ns(); at_ns < until_ns; at_ns = now_ns()) {
        if (!measures && at_ns >= began_ns) {
            measures = 1;
            began_ns = at_ns;
            before = done_count;
        }
        if (serve_once())
            return 1;
    }
    uint64_t ended_ns = now_ns(), measured = done_count - before;
    ends = 1;
    while (in_flight > 0)
        if (serve_once())
            return 1;
    if (nfs_unlink(nfs, url->file))
        return fail("remove the file");
    printf("{\"ops_per_s\":%.3f}\n", (double)measured * 1e9 / (double)(ended_ns - began_ns));
    return 0;
}
