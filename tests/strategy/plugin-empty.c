/* A shared object that exports no strategy. */
int shardsim_nothing = 1;
