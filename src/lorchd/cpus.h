/* How many CPUs this process may use. */
#pragma once

/* The CPUs of its affinity, or as many whole ones as the quotas of its control groups (version 2 or 1, and
 * those above them) come to, whichever is less; at least 1. `root` is put before /proc and /sys ("" in
 * earnest); files that are missing there allow everything. */
int cpus_available(const char *root);
