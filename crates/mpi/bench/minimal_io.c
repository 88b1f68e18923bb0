/* The MPI calls of `mpi-io-test -w`/`-r` and nothing else: what the suite's bandwidths are compared with.
 *   mpicc -O2 -o minimal_io minimal_io.c && mpirun -np 2 ./minimal_io FILE BLOCK_BYTES ITERATIONS COLLECTIVE(0|1) */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    int rank, count, iteration;
    double from, own[2] = {0, 0}, longest[2];
    MPI_File file;
    MPI_Status status;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    if (argc != 5) MPI_Abort(MPI_COMM_WORLD, 2);
    long block = atol(argv[2]), iterations = atol(argv[3]);
    int collective = atoi(argv[4]);
    /* Aligned as the suite's: a copy to an address off the page takes up to four times as long on some processors. */
    char *buffer;
    if (posix_memalign((void **)&buffer, 4096, block)) MPI_Abort(MPI_COMM_WORLD, 4);
    memset(buffer, rank + 1, block);
    for (int pass = 0; pass < 2; pass++) {
        int mode = pass == 0 ? MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR : MPI_MODE_RDONLY;
        if (MPI_File_open(MPI_COMM_WORLD, argv[1], mode, MPI_INFO_NULL, &file)) MPI_Abort(MPI_COMM_WORLD, 3);
        for (iteration = 0; iteration < iterations; iteration++) {
            MPI_File_seek(file, ((MPI_Offset)iteration * count + rank) * block, MPI_SEEK_SET);
            MPI_Barrier(MPI_COMM_WORLD);
            from = MPI_Wtime();
            if (pass == 0 && collective) MPI_File_write_all(file, buffer, block, MPI_BYTE, &status);
            else if (pass == 0) MPI_File_write(file, buffer, block, MPI_BYTE, &status);
            else if (collective) MPI_File_read_all(file, buffer, block, MPI_BYTE, &status);
            else MPI_File_read(file, buffer, block, MPI_BYTE, &status);
            own[pass] += MPI_Wtime() - from;
        }
        if (pass == 0) MPI_File_sync(file);
        MPI_File_close(&file);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Reduce(own, longest, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        double bytes = (double)block * count * iterations;
        printf("Write bandwidth = %f Mbytes/sec\n", bytes / (longest[0] * 1e6));
        printf("Read bandwidth = %f Mbytes/sec\n", bytes / (longest[1] * 1e6));
        MPI_File_delete(argv[1], MPI_INFO_NULL);
    }
    MPI_Finalize();
    return 0;
}
