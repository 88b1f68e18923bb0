# shellcheck shell=bash
# Finds Rust, and installs it where there is none: sourced by ./quickstart and ./test, which define `say`.

# The release that builds narrows, as `rust-version` in Cargo.toml has it.
rust_minor_min=95

# Whether the cargo at $1 is at least the version that the project needs.
new_enough() {
    "$1" --version 2>/dev/null |
        awk -v least="$rust_minor_min" '{ split($2, part, "."); exit !(part[1] > 1 || part[2] >= least) }'
}

# Puts a cargo that is new enough first in PATH: a distribution's own is often older than the one of rustup.
find_cargo() {
    local folder
    if command -v cargo >/dev/null 2>&1 && new_enough cargo; then
        return 0
    fi
    for folder in "${CARGO_HOME:-${HOME:-}/.cargo}/bin" /usr/lib/rustup/bin; do
        if [ -x "$folder/cargo" ] && new_enough "$folder/cargo"; then
            PATH="$folder:$PATH"
            export PATH
            return 0
        fi
    done
    return 1
}

# Runs a command as root: directly, or through sudo where that asks for no password.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        env DEBIAN_FRONTEND=noninteractive "$@"
    else
        sudo -n env DEBIAN_FRONTEND=noninteractive "$@"
    fi
}

# Whether packages of the distribution can be installed here.
may_install_packages() {
    command -v apt-get >/dev/null 2>&1 || return 1
    [ "$(id -u)" -eq 0 ] || { command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; }
}

update_packages() {
    as_root apt-get -q -o DPkg::Lock::Timeout=300 update >&2 || say "apt-get update failed; trying all the same"
}

# Installs packages of the distribution; what apt-get prints is diagnostics here.
install_packages() {
    update_packages
    as_root apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends "$@" >&2
}

# Whether the distribution has a package of this name.
is_packaged() {
    [ -n "$(apt-cache show "$1" 2>/dev/null)" ]
}

# Installs rustup: the distribution's package where it has one, else rustup's own installer, for this user alone.
install_rustup() {
    local fetch
    if may_install_packages; then
        # Where nobody has looked yet the list of packages is empty.
        is_packaged rustup || update_packages
        if is_packaged rustup; then
            say "installing the distribution's package rustup"
            install_packages rustup && return 0
        fi
    fi
    if command -v curl >/dev/null 2>&1; then
        fetch=(curl --proto '=https' --tlsv1.2 -sSf)
    elif command -v wget >/dev/null 2>&1; then
        fetch=(wget -qO-)
    elif may_install_packages; then
        say "installing the packages curl and ca-certificates, to fetch rustup with"
        install_packages curl ca-certificates || return 1
        fetch=(curl --proto '=https' --tlsv1.2 -sSf)
    else
        say "neither curl nor wget is here to fetch rustup with"
        return 1
    fi
    say "installing rustup with its own installer (https://rustup.rs) into ${CARGO_HOME:-${HOME:-}/.cargo}"
    local installer code=0
    installer=$(mktemp)
    "${fetch[@]}" https://sh.rustup.rs >"$installer" &&
        sh "$installer" -y --no-modify-path --profile minimal --default-toolchain none >&2 || code=1
    rm -f -- "$installer"
    return "$code"
}

find_rustup() {
    command -v rustup >/dev/null 2>&1 && return 0
    [ -x "${CARGO_HOME:-${HOME:-}/.cargo}/bin/rustup" ] || return 1
    PATH="${CARGO_HOME:-${HOME:-}/.cargo}/bin:$PATH"
    export PATH
}

# Makes sure that cargo is there, and of $1 (yes or no) whether it may be installed; further arguments are components
# that are needed besides. Says why where it cannot be had.
have_rust() {
    local may=$1
    shift
    find_cargo && return 0
    if [ "$may" = no ]; then
        say "no cargo of Rust 1.$rust_minor_min or newer, and --no-install forbids to install it."
        say "Install Rust with rustup (https://rustup.rs), or bring it up to date with: rustup update"
        return 1
    fi
    say "no cargo of Rust 1.$rust_minor_min or newer in PATH or in ${CARGO_HOME:-${HOME:-}/.cargo}/bin:"
    say "installing Rust's stable toolchain with rustup into ${RUSTUP_HOME:-${HOME:-}/.rustup} (--no-install forbids it)"
    if ! find_rustup; then
        install_rustup || return 1
        find_rustup || return 1
    fi
    local components=() name
    for name in "$@"; do components+=(--component "$name"); done
    rustup toolchain install stable --profile minimal "${components[@]}" >&2 || return 1
    rustup default >/dev/null 2>&1 || rustup default stable >&2 || return 1
    find_cargo && return 0
    say "rustup's stable toolchain is older than Rust 1.$rust_minor_min"
    return 1
}
