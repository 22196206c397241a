-- Every system description: the meaning of each field beside what was filed.
SELECT * FROM core.system
