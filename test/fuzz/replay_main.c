/* Runs a fuzz target over files, without libFuzzer: the regression half of fuzzing.
 *
 * Each input is placed so that it ends at an unmapped page, which makes a read of a single byte
 * past the end fatal even where no sanitizer looks. An argument that starts with '@' names a
 * file that lists inputs, one a line. Prints the input's name before it dies of a signal. */

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SECONDS_PER_INPUT = 60 };

static char current[4096];

static void on_alarm(int sig)
{
    (void)sig;
    static const char text[] = "replay: input takes too long: ";
    if (write(2, text, sizeof text - 1) < 0 || write(2, current, strlen(current)) < 0)
        _exit(3);
    _exit(2);
}

static int replay_file(const char *path)
{
    snprintf(current, sizeof current, "%s", path);
    FILE *f = fopen(path, "rb");
    struct stat st;
    if (f == NULL || fstat(fileno(f), &st) != 0) {
        fprintf(stderr, "replay: cannot read %s: %s\n", path, strerror(errno));
        return 1;
    }
    size_t size = (size_t)st.st_size;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t room = (size + page - 1) / page * page;
    uint8_t *map =
        mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || mprotect(map + room, page, PROT_NONE) != 0) {
        fprintf(stderr, "replay: cannot map %s: %s\n", path, strerror(errno));
        fclose(f);
        return 1;
    }
    uint8_t *data = map + room - size;
    size_t got = fread(data, 1, size, f);
    fclose(f);
    fprintf(stderr, "replay: %s\n", path);
    alarm(SECONDS_PER_INPUT);
    LLVMFuzzerTestOneInput(data, got);
    alarm(0);
    munmap(map, room + page);
    return got != size;
}

static int replay_list(const char *list_path, unsigned *count)
{
    FILE *f = fopen(list_path, "r");
    if (f == NULL) {
        fprintf(stderr, "replay: cannot read %s: %s\n", list_path, strerror(errno));
        return 1;
    }
    char line[4096];
    int failed = 0;
    while (fgets(line, sizeof line, f) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '\0')
            continue;
        failed |= replay_file(line);
        ++*count;
    }
    fclose(f);
    return failed;
}

int main(int argc, char **argv)
{
    unsigned count = 0;
    int failed = 0;
    signal(SIGALRM, on_alarm);
    /* The empty input is part of every corpus. */
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '@') {
            failed |= replay_list(argv[i] + 1, &count);
        } else {
            failed |= replay_file(argv[i]);
            count++;
        }
    }
    fprintf(stderr, "replay: %u inputs\n", count);
    return failed;
}
