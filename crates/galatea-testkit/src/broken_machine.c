/* Preloaded into a program under test: simulates a disk that is full, slow or cannot flush, and a
 * wrong clock. The file named by MACHINE_UNDER_TEST holds the current faults, which affect only
 * files below MACHINE_UNDER_TEST_DISK. The functions here make the system calls themselves. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct machine {
    volatile long long seconds; /* added to the time of day */
    volatile int full;          /* writes fail with ENOSPC, as on a copy-on-write file system */
    volatile int broken;        /* flushes fail with EIO */
    volatile int slow;          /* duration of every flush in milliseconds */
};

static struct machine fine;
static struct machine *machine = &fine;
static char disk[PATH_MAX];

__attribute__((constructor)) static void begin(void) {
    const char *file = getenv("MACHINE_UNDER_TEST"), *below = getenv("MACHINE_UNDER_TEST_DISK");
    if (!file || !below) return;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_RDWR, 0);
    if (fd < 0) return;
    void *at = mmap(NULL, sizeof(struct machine), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED) machine = at;
    close(fd);
    strncpy(disk, below, sizeof disk - 1);
}

static int is_met(int fd) {
    char link[64], path[PATH_MAX];
    struct stat about;
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return disk[0] && strncmp(path, disk, strlen(disk)) == 0;
}

static ssize_t no_space(void) {
    errno = ENOSPC;
    return -1;
}

ssize_t pwrite(int fd, const void *from, size_t count, off_t at) {
    if (machine->full && is_met(fd)) return no_space();
    return syscall(SYS_pwrite64, fd, from, count, at);
}

ssize_t pwrite64(int fd, const void *from, size_t count, off64_t at) {
    return pwrite(fd, from, count, at);
}

ssize_t write(int fd, const void *from, size_t count) {
    if (machine->full && is_met(fd)) return no_space();
    return syscall(SYS_write, fd, from, count);
}

/* Waits as long as a flush takes. Returns 0, or -1 when the flush fails. */
static int before_flush(int fd) {
    int slow = machine->slow;
    if ((!slow && !machine->broken) || !is_met(fd)) return 0;
    struct timespec pause = {slow / 1000, slow % 1000 * 1000000L};
    if (slow) syscall(SYS_nanosleep, &pause, NULL);
    if (!machine->broken) return 0;
    errno = EIO;
    return -1;
}

int fsync(int fd) {
    if (before_flush(fd)) return -1;
    return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd) {
    if (before_flush(fd)) return -1;
    return (int)syscall(SYS_fdatasync, fd);
}

int clock_gettime(clockid_t clock, struct timespec *out) {
    int failed = (int)syscall(SYS_clock_gettime, clock, out);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) out->tv_sec += machine->seconds;
    return failed;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone) {
    (void)zone;
    struct timespec now;
    int failed = clock_gettime(CLOCK_REALTIME, &now);
    if (failed) return failed;
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}
