module tracelet

go 1.18
