//! The engine `nfs` against the NFS server of Linux's kernel, in a guest: a second implementation beside nfs-ganesha.

use crate::nfs::{calls, start_run, summary_of};
use crate::support::guest::Guest;
use crate::support::{SOON, conform, lab_with_kernel_servers};

#[test]
#[ignore = "campaign: a second NFS server, the kernel's in a guest"]
fn the_engine_conforms_with_the_kernels_server() {
    let Some(lab) = lab_with_kernel_servers() else { return };
    let guest = Guest::new(&lab);
    let (_server, target) = guest.serve_nfs();
    for (depth, options) in
        [(1, &[][..]), (32, &[]), (32, &[("connections", 4)]), (8, &[("rsize", 1024), ("wsize", 1500)])]
    {
        conform(&target, depth, options, |_| ());
    }
}

#[test]
#[ignore = "campaign: a second NFS server, the kernel's in a guest"]
fn data_and_objects_of_the_kernels_server_are_right_and_its_calls_are_counted() {
    let Some(lab) = lab_with_kernel_servers() else { return };
    let guest = Guest::new(&lab);
    let (_server, target) = guest.serve_nfs();
    let blocks = format!(
        "target = \"{target}\"\ncuts = []\n\n[workload]\nverify = true\nops = {{ read = 1, write = 1 }}\norder = \
         \"random_with_replacement\"\nfile = \"8MiB\"\nblock = \"64KiB\"\ndepth = 8\nsync = \"none\"\n\n[stop]\nmeasure = \"2s\"\n"
    );
    let mut run = start_run(&lab, "blocks", &blocks);
    run.wait(SOON).unwrap();
    let cell = &summary_of(&run).cells[0];
    let verified = cell.verification.as_ref().unwrap();
    assert_eq!((verified.wrong_bytes.0, verified.mismatch_count), (0, 0), "{verified:?}");
    assert!(verified.checked_bytes.0 > 0 && cell.errors.is_empty(), "{verified:?} {:?}", cell.errors);
    assert!(
        calls(cell, "WRITE").call_count > 100 && calls(cell, "COMMIT").call_count > 0,
        "{:?}",
        cell.protocol
    );

    let objects = format!(
        "target = \"{target}\"\ncuts = []\n\n[workload]\nop = \"stat\"\nblock = \"4KiB\"\n\n[workload.objects]\ncount = 200\n\
         min = \"4KiB\"\nmax = \"4KiB\"\n\n[workload.nfs]\nstat = \"getattr\"\n\n[stop]\nmeasure = \"60s\"\n"
    );
    let mut run = start_run(&lab, "objects", &objects);
    run.wait(SOON).unwrap();
    let cell = &summary_of(&run).cells[0];
    assert_eq!(calls(cell, "GETATTR").call_count, 200, "{:?}", cell.protocol);
}
