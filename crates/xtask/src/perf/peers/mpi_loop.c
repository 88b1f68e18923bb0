/* The least that the MPI suites can cost: the same calls by a bare program.
 *
 * mpi_loop io FILE BLOCK_BYTES ITERATIONS    seek, barrier, MPI_File_write (then _read) of a block, as mpi-io-test
 * mpi_loop array FILE EDGE                   MPI_File_write_all (then _read_all) of an EDGE^3 array of integers, as coll_perf
 * mpi_loop items FOLDER COUNT                folders, then files: made, looked up, (files) read, removed, as mdtest
 * mpi_loop barrier COUNT                     MPI_Barrier
 *
 * Rank 0 prints one line of JSON: megabytes (10^6; 2^20 for `array`) or items a second by the slowest rank, or nanoseconds
 * of a barrier. FILE must not exist and is removed; FOLDER must exist and be empty, and is left so.
 *
 * Built by `cargo xtask perf mpi`: mpicc -O2 mpi_loop.c
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int rank, ranks;

static void fail(const char *what)
{
    fprintf(stderr, "mpi_loop: rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void check(int outcome, const char *what)
{
    if (outcome != MPI_SUCCESS)
        fail(what);
}

static double slowest(double seconds)
{
    double most;
    check(MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD), "MPI_Allreduce");
    return most;
}

static void *memory(size_t bytes)
{
    /* Of whole pages, as an allocation of this size is anywhere else; written to, so that it is memory of its own. */
    void *block = NULL;
    if (posix_memalign(&block, 4096, bytes ? bytes : 1))
        fail("memory");
    memset(block, rank + 1, bytes);
    return block;
}

static MPI_File open_file(const char *path, int mode)
{
    MPI_File file;
    check(MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file), "MPI_File_open");
    return file;
}

static void io(const char *path, size_t block_bytes, int iterations)
{
    char *block = memory(block_bytes);
    MPI_Status status;
    double seconds[2] = { 0, 0 };
    for (int reads = 0; reads < 2; reads++) {
        int mode = reads ? MPI_MODE_RDONLY : MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL;
        MPI_File file = open_file(path, mode);
        for (int at = 0; at < iterations; at++) {
            MPI_Offset offset = ((MPI_Offset)at * ranks + rank) * (MPI_Offset)block_bytes;
            check(MPI_File_seek(file, offset, MPI_SEEK_SET), "MPI_File_seek");
            MPI_Barrier(MPI_COMM_WORLD);
            double from = MPI_Wtime();
            check(reads ? MPI_File_read(file, block, (int)block_bytes, MPI_BYTE, &status)
                        : MPI_File_write(file, block, (int)block_bytes, MPI_BYTE, &status),
                  "the transfer");
            seconds[reads] += MPI_Wtime() - from;
        }
        if (!reads)
            check(MPI_File_sync(file), "MPI_File_sync");
        check(MPI_File_close(&file), "MPI_File_close");
        MPI_Barrier(MPI_COMM_WORLD);
    }
    double bytes = (double)block_bytes * iterations * ranks;
    double wrote = slowest(seconds[0]), read = slowest(seconds[1]);
    if (rank == 0)
        printf("{\"write\":%.6f,\"read\":%.6f}\n", bytes / wrote / 1e6, bytes / read / 1e6);
}

static void array(const char *path, int edge)
{
    int sizes[3] = { edge, edge, edge }, grid[3] = { 0, 0, 0 }, args[3], kinds[3], element_bytes, count;
    MPI_Datatype part;
    MPI_Status status;
    double seconds[2];
    MPI_Dims_create(ranks, 3, grid);
    for (int axis = 0; axis < 3; axis++) {
        kinds[axis] = MPI_DISTRIBUTE_BLOCK;
        args[axis] = MPI_DISTRIBUTE_DFLT_DARG;
    }
    check(MPI_Type_create_darray(ranks, rank, 3, sizes, kinds, args, grid, MPI_ORDER_C, MPI_INT, &part), "darray");
    MPI_Type_commit(&part);
    MPI_Type_size(part, &element_bytes);
    count = element_bytes / (int)sizeof(int);
    int *integers = memory((size_t)element_bytes), *found = memory((size_t)element_bytes);
    for (int pass = 0; pass < 3; pass++) {
        MPI_File file =
            open_file(path, pass == 0 ? MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL : MPI_MODE_RDWR);
        check(MPI_File_set_view(file, 0, MPI_INT, part, "native", MPI_INFO_NULL), "MPI_File_set_view");
        if (pass == 0) {
            check(MPI_File_write_all(file, integers, count, MPI_INT, &status), "MPI_File_write_all");
            check(MPI_File_seek(file, 0, MPI_SEEK_SET), "MPI_File_seek");
            check(MPI_File_read_all(file, found, count, MPI_INT, &status), "MPI_File_read_all");
        } else {
            MPI_Barrier(MPI_COMM_WORLD);
            double from = MPI_Wtime();
            check(pass == 1 ? MPI_File_write_all(file, integers, count, MPI_INT, &status)
                            : MPI_File_read_all(file, found, count, MPI_INT, &status),
                  "the transfer");
            seconds[pass - 1] = MPI_Wtime() - from;
        }
        check(MPI_File_close(&file), "MPI_File_close");
    }
    double mbytes = (double)edge * edge * edge * sizeof(int) / 1048576.0;
    double wrote = slowest(seconds[0]), read = slowest(seconds[1]);
    if (rank == 0)
        printf("{\"write\":%.6f,\"read\":%.6f}\n", mbytes / wrote, mbytes / read);
}

enum phase { MAKE_FOLDER, STAT_FOLDER, REMOVE_FOLDER, MAKE_FILE, STAT_FILE, READ_FILE, REMOVE_FILE, PHASES };

static int visit(int folder, enum phase phase, const char *name)
{
    struct stat found;
    int file;
    switch (phase) {
    case MAKE_FOLDER:
        return mkdirat(folder, name, 0755);
    case REMOVE_FOLDER:
        return unlinkat(folder, name, AT_REMOVEDIR);
    case REMOVE_FILE:
        return unlinkat(folder, name, 0);
    case STAT_FOLDER:
    case STAT_FILE:
        return fstatat(folder, name, &found, 0);
    default:
        file = openat(folder, name, phase == MAKE_FILE ? O_CREAT | O_EXCL | O_RDWR : O_RDONLY, 0644);
        return file < 0 ? -1 : close(file);
    }
}

static void items(const char *path, int count)
{
    static const char *const keys[PHASES] = { "dir_create", "dir_stat", "dir_remove", "file_create",
                                              "file_stat",  "file_read", "file_remove" };
    double seconds[PHASES];
    int folder = open(path, O_RDONLY | O_DIRECTORY);
    if (folder < 0)
        fail("open the folder");
    for (int phase = 0; phase < PHASES; phase++) {
        char name[64];
        MPI_Barrier(MPI_COMM_WORLD);
        double from = MPI_Wtime();
        for (int at = 0; at < count; at++) {
            snprintf(name, sizeof name, "%s.mdtest.%d.%d", phase < MAKE_FILE ? "dir" : "file", rank, at);
            if (visit(folder, phase, name))
                fail(keys[phase]);
        }
        seconds[phase] = MPI_Wtime() - from;
    }
    for (int phase = 0; phase < PHASES; phase++) {
        double all = slowest(seconds[phase]);
        if (rank == 0)
            printf("%s\"%s\":%.3f%s", phase ? "," : "{", keys[phase], (double)count * ranks / all,
                   phase + 1 < PHASES ? "" : "}\n");
    }
}

static void barrier(int count)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double from = MPI_Wtime();
    for (int at = 0; at < count; at++)
        MPI_Barrier(MPI_COMM_WORLD);
    double all = slowest(MPI_Wtime() - from);
    if (rank == 0)
        printf("{\"barrier_ns\":%.1f}\n", all / count * 1e9);
}

int main(int count, char **words)
{
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char *what = count > 1 ? words[1] : "";
    if (!strcmp(what, "io") && count == 5)
        io(words[2], strtoull(words[3], NULL, 10), atoi(words[4]));
    else if (!strcmp(what, "array") && count == 4)
        array(words[2], atoi(words[3]));
    else if (!strcmp(what, "items") && count == 4)
        items(words[2], atoi(words[3]));
    else if (!strcmp(what, "barrier") && count == 3)
        barrier(atoi(words[2]));
    else
        fail("what? see the source");
    if (rank == 0 && (!strcmp(what, "io") || !strcmp(what, "array")) && unlink(words[2]))
        fail("remove the file");
    MPI_Finalize();
    return 0;
}
